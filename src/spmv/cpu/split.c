#include "spmv/cpu/split.h"

enum { MOST_STRETCHES = 64 };

struct split {
    int64_t grain;
    trine_team_range range;
    void *user;
    int stretches;
    struct {
        _Alignas(64) int64_t next; /* atomic */
        int64_t end;
    } stretch[MOST_STRETCHES];
};

static bool take(void *job, int me)
{
    struct split *s = job;
    for (int k = 0; k < s->stretches; k++) {
        const int which = (me + k) % s->stretches;
        const int64_t end = s->stretch[which].end;
        if (__atomic_load_n(&s->stretch[which].next, __ATOMIC_RELAXED) >= end) continue;
        for (int64_t at; (at = __atomic_fetch_add(&s->stretch[which].next, s->grain, __ATOMIC_RELAXED)) < end;)
            s->range(s->user, at, end - at < s->grain ? end : at + s->grain, me);
    }
    return false;
}

void cpu_split(trine_context ctx, int threads, bool wakes, int64_t count, int64_t grain, trine_team_range range,
               void *user)
{
    if (threads == 1 || count <= grain) {
        range(user, 0, count, 0);
        return;
    }
    struct split s; /* most of it is not used */
    s.grain = grain, s.range = range, s.user = user;
    s.stretches = threads < MOST_STRETCHES ? threads : MOST_STRETCHES;
    for (int k = 0; k < s.stretches; k++) {
        s.stretch[k].next = count * k / s.stretches;
        s.stretch[k].end = count * (k + 1) / s.stretches;
    }
    trine_team_run(ctx, threads, wakes, take, &s);
}
