"""Lightning, Accelerate and Hugging Face's Trainer with `millrace.torch.DataLoader`.

Two ranks train two epochs and save in the middle of the second. A second run resumes
from there, and must see the same rows and the same random draws as the first did.
The file is also the script that the ranks run.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset, DistributedSampler

import millrace
from millrace.torch import DataLoader

RANKS = 2
ROWS = 40
BATCH = 4
STEPS_PER_EPOCH = ROWS // RANKS // BATCH
SAVED_AT = STEPS_PER_EPOCH + 2
LAUNCH_SECONDS = 240


class Rows(Dataset[Any]):
    """Row i is i, with a random draw."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"id": index, "draw": random.random()}


class Line(torch.nn.Module):
    """The smallest model that can be trained."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, id: Any, draw: Any) -> dict[str, Any]:
        return {"loss": self.layer(draw.float().unsqueeze(1)).mean()}


def make_loader(workers: int) -> Any:
    rows = Rows()
    sampler: Any = DistributedSampler(rows, shuffle=True, seed=3)
    return DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)


def seen(batch: dict[str, Any]) -> list[Any]:
    return [batch["id"].tolist(), batch["draw"].tolist()]


def train_lightning(folder: Path, resume: bool) -> list[Any]:
    import lightning

    log: list[Any] = []

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.line = Line()

        def training_step(self, batch: Any, index: int) -> Any:
            log.append(seen(batch))
            return self.line(**batch)["loss"]

        def on_train_batch_end(self, *_: Any) -> None:
            if self.trainer.global_step == SAVED_AT and not resume:
                self.trainer.save_checkpoint(folder / "saved.ckpt")

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

        def train_dataloader(self) -> Any:
            return make_loader(0 if resume else 2)

    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=RANKS,
        strategy="ddp",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    saved = str(folder / "saved.ckpt") if resume else None
    trainer.fit(Module(), ckpt_path=saved)
    return log


def train_accelerate(folder: Path, resume: bool) -> list[Any]:
    import accelerate

    accelerator = accelerate.Accelerator(cpu=True)
    model: Any = Line()
    optimizer: Any = torch.optim.SGD(model.parameters(), 0.01)
    loader = make_loader(0 if resume else 2)
    model, optimizer, prepared = accelerator.prepare(model, optimizer, loader)
    assert prepared is loader
    accelerator.register_for_checkpointing(loader)
    if resume:
        accelerator.load_state(str(folder / "saved"))
    log: list[Any] = []
    for epoch in range(loader.state_dict()["epoch"], 2):
        loader.set_epoch(epoch)
        for batch in loader:
            log.append(seen(batch))
            accelerator.backward(model(**batch)["loss"])
            optimizer.step()
            if len(log) == SAVED_AT and not resume:
                accelerator.save_state(str(folder / "saved"))
    accelerator.end_training()
    return log


def train_transformers(folder: Path, resume: bool) -> list[Any]:
    import transformers

    log: list[Any] = []
    arguments = transformers.TrainingArguments(  # Also joins the ranks.
        output_dir=str(folder),
        use_cpu=True,
        num_train_epochs=2,
        per_device_train_batch_size=BATCH,
        save_strategy="steps",
        save_steps=SAVED_AT,
        ignore_data_skip=True,  # The loader itself goes on where it was.
        remove_unused_columns=False,
        report_to=[],
        disable_tqdm=True,
    )
    loader = make_loader(0 if resume else 2)

    class KeepLoader(transformers.TrainerCallback):
        """Saves and loads the loader's state with the checkpoint."""

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            saved = Path(args.output_dir) / f"loader-{state.global_step}.json"
            if state.is_world_process_zero:
                saved.write_text(json.dumps(loader.state_dict()))

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            saved = Path(args.output_dir) / f"loader-{state.global_step}.json"
            if saved.exists():
                loader.load_state_dict(json.loads(saved.read_text()))

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self) -> Any:
            return loader

        def training_step(self, model: Any, inputs: Any, *rest: Any) -> Any:
            log.append(seen(inputs))
            return super().training_step(model, inputs, *rest)

    trainer = Trainer(Line(), arguments, train_dataset=Rows(), callbacks=[KeepLoader()])
    saved = str(folder / f"checkpoint-{SAVED_AT}") if resume else None
    trainer.train(resume_from_checkpoint=saved)
    return log


TRAINERS = {
    "lightning": train_lightning,
    "accelerate": train_accelerate,
    "transformers": train_transformers,
}


def run_rank(name: str, run: str, folder: Path) -> None:
    """What one rank does."""
    log = TRAINERS[name](folder, run == "resumed")
    # Else a thread of gloo may still drop a tensor while the interpreter ends, and
    # abort the process: seen with torch alone, once in four runs on a busy machine.
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    (folder / f"{run}-{os.environ['RANK']}.json").write_text(json.dumps(log))


def launch(name: str, run: str, folder: Path) -> list[Any]:
    """Runs the ranks; returns what each has seen."""
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run"]
    command += ["--standalone", f"--nproc-per-node={RANKS}", __file__]
    environment = {**os.environ, "PYTHONPATH": str(Path(millrace.__file__).parents[1])}
    done = subprocess.run(
        [*command, name, run, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LAUNCH_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    logs = [folder / f"{run}-{rank}.json" for rank in range(RANKS)]
    return [json.loads(log.read_text()) for log in logs]


@pytest.mark.frameworks
@pytest.mark.parametrize("name", list(TRAINERS))
def test_resumes_in_the_middle_of_an_epoch(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name)
    whole = launch(name, "whole", tmp_path)
    resumed = launch(name, "resumed", tmp_path)
    for epoch in range(2):
        steps = slice(epoch * STEPS_PER_EPOCH, (epoch + 1) * STEPS_PER_EPOCH)
        ids = [row for log in whole for batch in log[steps] for row in batch[0]]
        assert sorted(ids) == list(range(ROWS))
    for all_steps, rest in zip(whole, resumed, strict=True):
        assert len(all_steps) == 2 * STEPS_PER_EPOCH
        assert rest == all_steps[SAVED_AT:]


if __name__ == "__main__":
    run_rank(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
