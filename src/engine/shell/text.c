/* Names, and what the journal keeps as text. */
#include "state.h"

#include "base/json_pull.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
#define CUZK__KIND_TEXT(name, text) text,
    CUZK_ENGINE_KINDS(CUZK__KIND_TEXT)
#undef CUZK__KIND_TEXT
};

const char *cuzk_engine_kind_name(cuzk_engine_kind kind) {
    return (unsigned)kind < CUZK_ENGINE_KIND_COUNT ? kinds[kind] : "?";
}

const char *cuzk_engine_state_name(cuzk_engine_state s) {
    switch (s) {
    case CUZK_ENGINE_QUEUED:
        return "queued";
    case CUZK_ENGINE_RUNNING:
        return "running";
    case CUZK_ENGINE_DONE:
        return "done";
    case CUZK_ENGINE_FAILED:
        return "failed";
    case CUZK_ENGINE_CANCELLED:
        return "cancelled";
    case CUZK_ENGINE_DEADLINE:
        return "deadline";
    }
    return "?";
}

cuzk_engine_kind cuzk__shell_kind_of(const char *text) {
    for (unsigned k = 0; k < CUZK_ENGINE_KIND_COUNT; k++)
        if (strcmp(kinds[k], text) == 0) return (cuzk_engine_kind)k;
    return CUZK_ENGINE_UNSPECIFIED;
}

void cuzk__shell_times_write(char out[256], const cuzk_engine_times *t) {
    snprintf(out, 256,
             "{\"queue_wait\":%llu,\"key_load\":%llu,\"witness\":%llu,\"compute\":%llu,"
             "\"total\":%llu}",
             (unsigned long long)t->queue_wait, (unsigned long long)t->key_load,
             (unsigned long long)t->witness, (unsigned long long)t->compute,
             (unsigned long long)t->total);
}

typedef struct times_reader {
    cuzk_pull pull;
    cuzk_engine_times *t;
} times_reader;

static cuzk_status read_time(void *ctx, unsigned i) {
    times_reader *r = ctx;
    uint64_t *const to[] = {&r->t->queue_wait, &r->t->key_load, &r->t->witness, &r->t->compute,
                            &r->t->total};
    return cuzk_pull_u64(&r->pull, UINT64_MAX, to[i]);
}

/* What cannot be read is shown as zero. */
static void read_times(cuzk_engine_times *t, cuzk_journal_part text) {
    static const char *const names[] = {"queue_wait", "key_load", "witness", "compute", "total"};
    times_reader r = {.t = t};
    if (text.len == 0) return;
    cuzk_pull_init(&r.pull, text.data, text.len, "journal", NULL);
    if (cuzk_pull_fields(&r.pull, names, 5, UINT32_MAX, true, read_time, &r) != CUZK_OK)
        *t = (cuzk_engine_times){0};
    cuzk_pull_fini(&r.pull);
}

static cuzk_engine_state state_of(cuzk_journal_outcome o) {
    switch (o) {
    case CUZK_JOURNAL_DONE:
        return CUZK_ENGINE_DONE;
    case CUZK_JOURNAL_FAILED:
        return CUZK_ENGINE_FAILED;
    case CUZK_JOURNAL_CANCELLED:
        return CUZK_ENGINE_CANCELLED;
    case CUZK_JOURNAL_DEADLINE:
        return CUZK_ENGINE_DEADLINE;
    default:
        return CUZK_ENGINE_QUEUED;
    }
}

void cuzk__shell_view_of(cuzk_engine_job *out, const cuzk_journal_job *j) {
    cuzk_engine_plan plan = {.n_partitions = 0};
    uint32_t parts;
    size_t skip;
    *out = (cuzk_engine_job){.kind = cuzk__shell_kind_of(j->kind),
                             .state = state_of(j->outcome),
                             .priority = j->priority,
                             .submitted_ns = j->submitted_ns,
                             .ended_ns = j->ended_ns,
                             .deadline_ns = j->deadline_ns,
                             .n_partitions = j->n_partitions,
                             .partitions_done = (uint32_t)__builtin_popcountll(j->partitions_done)};
    snprintf(out->id, sizeof out->id, "%s", j->id);
    snprintf(out->request_id, sizeof out->request_id, "%s", j->request_id);
    snprintf(out->client, sizeof out->client, "%s", j->client);
    snprintf(out->message, sizeof out->message, "%s", j->message);
    if (j->meta.len && cuzk__shell_plan_read(&plan, &parts, &skip, j->meta, NULL) == CUZK_OK) {
        memcpy(out->key, plan.key, sizeof out->key);
        if (j->outcome == CUZK_JOURNAL_UNFINISHED)
            snprintf(out->message, sizeof out->message, "%s", plan.message);
    }
    read_times(&out->times, j->timings);
}
