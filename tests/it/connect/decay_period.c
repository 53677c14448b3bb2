/* The controller of Slurm recalculates fair shares at most once a minute (PriorityCalcPeriod). In a test in which a second stands for
 * half an hour, that would be once in thirty hours. This library is loaded before others and lets the thread that recalculates wait
 * for one second. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
  static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!wait) wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  struct timespec end = *until;
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (!strcmp(name, "decay")) {
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1;
  }
  return wait(condition, mutex, &end);
}
