/* Sets the time of day of one process off, by as many seconds as a file says; it may
 * say something else at any time. What passes evenly passes on. For tests: loaded by
 * LD_PRELOAD; MILLRACE_TEST_CLOCK names the file, which holds one int64. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int (*GetTime)(clockid_t, struct timespec*);

static int64_t nothing = 0;
static volatile int64_t* off_seconds = &nothing;
static GetTime real_time = NULL;

__attribute__((constructor)) static void begin(void) {
  real_time = (GetTime)dlsym(RTLD_NEXT, "clock_gettime");
  const char* const path = getenv("MILLRACE_TEST_CLOCK");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const seen = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (seen != MAP_FAILED) off_seconds = seen;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  if (real_time == NULL) real_time = (GetTime)dlsym(RTLD_NEXT, "clock_gettime");
  const int failed = real_time(clock, now);
  if (clock == CLOCK_REALTIME && failed == 0) now->tv_sec += *off_seconds;
  return failed;
}

int gettimeofday(struct timeval* now, void* zone) {
  (void)zone;
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now != NULL) *now = exact.tv_sec;
  return exact.tv_sec;
}
