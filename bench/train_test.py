from train import report

MACHINE = {"processor": "a quick one"}


def told(
    images_per_s: float, idle: float = 0.0, decoded: float = 0.0
) -> dict[str, float]:
    return {
        "images_per_s": images_per_s,
        "idle": idle,
        "cores_used": 3.0,
        "decoded_per_s": decoded,
    }


def test_on_all_cores_the_gpu_must_not_wait() -> None:
    text = report(
        {
            (16, "millrace"): told(4000, idle=0.04),
            (16, "millrace_service"): told(3900, idle=0.06),
            (16, "torch 16"): told(3000, idle=0.3),
        },
        MACHINE,
    )
    assert "| 16 | millrace: GPU idle | < 5% | 4.0% | yes |" in text
    assert "| 16 | millrace_service: GPU idle | < 5% | 6.0% | no |" in text
    assert "| 16 | torch 16 | 3,000 | 30.0% | 3.0 | 0 |" in text


def test_on_few_cores_the_best_of_the_peer_counts_and_the_lower_limit() -> None:
    text = report(
        {
            (4, "ready"): told(4000),
            (4, "decode"): told(3500, decoded=2000),
            (4, "millrace"): told(1900),
            (4, "torch 3"): told(900),
            (4, "torch 4"): told(1000),
        },
        MACHINE,
    )
    assert "| 4 | millrace beside torch's best | 2 | 1.90 | no |" in text
    assert "plain decoding | 0.95 | 0.95 | yes |" in text


def test_what_did_not_run_is_not_judged() -> None:
    assert "yes" not in report({(4, "ready"): told(4000)}, MACHINE)
