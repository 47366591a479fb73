/* The order of partitions, and queues in that order: sorted arrays, since a dispatcher walks them
 * past entries that cannot go yet, and insertion moves four bytes an entry. */
#include "state.h"

#include <string.h>

int cuzk__sched_compare(const cuzk_sched *s, uint32_t a, uint32_t b) {
    const part *pa = &s->parts[a], *pb = &s->parts[b];
    const job *ja = job_of(s, pa), *jb = job_of(s, pb);
    if (ja->spec.priority != jb->spec.priority)
        return ja->spec.priority > jb->spec.priority ? -1 : 1;
    if (ja->spec.deadline != jb->spec.deadline)
        return ja->spec.deadline < jb->spec.deadline ? -1 : 1;
    if (ja->seq != jb->seq) return ja->seq < jb->seq ? -1 : 1;
    return pa->index < pb->index ? -1 : pa->index > pb->index;
}

uint32_t cuzk__sched_before(const cuzk_sched *s, int q, uint32_t p) {
    const queue *list = &s->queues[q];
    uint32_t lo = 0, hi = list->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (cuzk__sched_compare(s, list->items[mid], p) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void cuzk__sched_push(cuzk_sched *s, int q, uint32_t p) {
    queue *list = &s->queues[q];
    const uint32_t at = cuzk__sched_before(s, q, p);
    memmove(list->items + at + 1, list->items + at, (list->n - at) * sizeof *list->items);
    list->items[at] = p;
    list->n++;
    if (q == Q_WITNESS && job_of(s, &s->parts[p])->spec.reserved) s->queued_reserved++;
}

void cuzk__sched_remove(cuzk_sched *s, int q, uint32_t p) {
    queue *list = &s->queues[q];
    const uint32_t at = cuzk__sched_before(s, q, p);
    if (at == list->n || list->items[at] != p) return;
    list->n--;
    memmove(list->items + at, list->items + at + 1, (list->n - at) * sizeof *list->items);
    if (q == Q_WITNESS && job_of(s, &s->parts[p])->spec.reserved) s->queued_reserved--;
}
