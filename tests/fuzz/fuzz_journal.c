/* A damaged state directory: opening it gives an error with a reason, or a journal that can be
 * read, written, closed and opened again. The first byte says what the rest is: 0 the database
 * itself   1, 2 changes of bytes in a sound database, in its log (offset, value) 3, 4 where the
 * database, the log is cut */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/journal/hooks.h"
#include "engine/journal/journal.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1 << 20 };

typedef struct file_t {
    uint8_t data[MOST];
    size_t len;
} file_t;

static char dir[256];
static file_t sound_db, sound_log, db, log_file;

static int no_sync(void *ctx, cuzk_journal_step step, int fd, const char *name) {
    (void)ctx;
    (void)step;
    (void)fd;
    (void)name;
    return 0;
}

static int remove_entry(const char *path, const struct stat *sb, int flag, struct FTW *f) {
    (void)sb;
    (void)flag;
    return f->level ? remove(path) : 0;
}

static void empty_dir(void) {
    FUZZ_CHECK(nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static void remove_dir(void) {
    empty_dir();
    rmdir(dir);
}

static cuzk_status open_journal(cuzk_journal **j, cuzk_err *err) {
    static const cuzk_journal_hooks hooks = {.step = no_sync};
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.hooks = &hooks;
    return cuzk_journal_open(j, dir, &o, err);
}

static void read_file(file_t *f, const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY);
    FUZZ_CHECK(fd >= 0);
    const ssize_t n = read(fd, f->data, MOST);
    FUZZ_CHECK(n > 0 && n < MOST);
    f->len = (size_t)n;
    close(fd);
}

static void write_file(const file_t *f, const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_CHECK(fd >= 0 && write(fd, f->data, f->len) == (ssize_t)f->len);
    close(fd);
}

static cuzk_journal_accepted add_job(cuzk_journal *j, const char *request) {
    static const uint8_t bytes[500] = "some payload";
    const cuzk_journal_part one = {bytes, sizeof bytes};
    cuzk_payload *p;
    cuzk_journal_accepted a;
    FUZZ_CHECK(cuzk_journal_put(j, &p, &one, 1, false, NULL) == CUZK_OK);
    const cuzk_journal_spec spec = {
        .request_id = request, .kind = "kind", .n_partitions = 3, .meta = one, .payload = p};
    FUZZ_CHECK(cuzk_journal_accept(j, &a, &spec, NULL, NULL, NULL) == CUZK_OK);
    cuzk_payload_free(p);
    return a;
}

static void report(cuzk_journal *j, uint64_t job, bool end) {
    const cuzk_journal_part few = {"proof", 5};
    const cuzk_journal_end_spec spec = {
        .outcome = CUZK_JOURNAL_FAILED, .stage = "verify", .message = "no", .result = few};
    FUZZ_CHECK(cuzk_journal_partition_done(j, job, 1, few, few, NULL, NULL, NULL) == CUZK_OK);
    FUZZ_CHECK(cuzk_journal_fault(j, job, 2, "stage", "dev", "why", NULL, NULL, NULL) == CUZK_OK);
    if (end) FUZZ_CHECK(cuzk_journal_end(j, job, &spec, NULL, NULL, NULL) == CUZK_OK);
}

/* A database with jobs, and a log with more of them. */
static void prepare(void) {
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !tmp[0]) tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(dir, sizeof dir, "%s/cuzk-fuzz-XXXXXX", tmp);
    FUZZ_CHECK(mkdtemp(dir));
    atexit(remove_dir);
    for (int round = 0; round < 2; round++) {
        cuzk_journal *j;
        FUZZ_CHECK(open_journal(&j, NULL) == CUZK_OK);
        for (int i = 0; i < 4; i++) {
            char request[16];
            snprintf(request, sizeof request, "r%d-%d", round, i);
            report(j, add_job(j, request).job, i % 2);
            cuzk_journal_sync(j);
        }
        FUZZ_CHECK(cuzk_journal_set_fact(j, "f", (cuzk_journal_part){"v", 1}, NULL, NULL, NULL) ==
                   CUZK_OK);
        cuzk_journal_sync(j);
        if (round == 1) {
            read_file(&sound_db, "journal.db");
            read_file(&sound_log, "journal.db-wal");
        }
        cuzk_journal_close(j);
    }
}

/* Everything that can be read. Damage that only shows now is an error with a reason. */
static void read_all(cuzk_journal *j) {
    cuzk_err err = {0};
    cuzk_journal_job *jobs, job;
    cuzk_journal_total *totals;
    cuzk_journal_fault_record *faults;
    size_t n, len;
    uint8_t *bytes;
    FUZZ_CHECK(cuzk_journal_list(j, &jobs, &n, NULL, &err) == CUZK_OK);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(cuzk_journal_get(j, &job, jobs[i].job, &err) == CUZK_OK);
        FUZZ_CHECK(!strcmp(job.id, jobs[i].id));
        if (job.outcome) {
            FUZZ_CHECK(cuzk_journal_result(j, &bytes, &len, job.job, &err) == CUZK_OK);
            fuzz_touch(bytes, len);
            cuzk_free(bytes);
        } else {
            cuzk_payload *p;
            FUZZ_CHECK(cuzk_journal_payload(j, &p, job.job, &err) == CUZK_OK);
            fuzz_touch(cuzk_payload_part(p, 0).data, cuzk_payload_part(p, 0).len);
            cuzk_payload_free(p);
        }
        cuzk_journal_job_free(&job);
    }
    cuzk_journal_jobs_free(jobs, n);
    FUZZ_CHECK(cuzk_journal_totals(j, &totals, &n, &err) == CUZK_OK);
    cuzk_free(totals);
    FUZZ_CHECK(cuzk_journal_faults(j, &faults, &n, 0, 100, &err) == CUZK_OK);
    cuzk_journal_faults_free(faults, n);
}

/* Whether it could be opened. */
static bool use(void) {
    cuzk_journal *j;
    cuzk_err err = {0};
    if (open_journal(&j, &err) != CUZK_OK) {
        FUZZ_CHECK((err.status == CUZK_STATUS_IO || err.status == CUZK_STATUS_NO_MEMORY) &&
                   err.msg[0]);
        return false;
    }
    read_all(j);
    report(j, add_job(j, "another").job, true);
    cuzk_journal_sync(j);
    read_all(j);
    cuzk_journal_stats stats;
    cuzk_journal_get_stats(j, &stats);
    FUZZ_CHECK(stats.failed == 0);
    cuzk_journal_close(j);
    return true;
}

static void damage(file_t *f, const uint8_t *data, size_t size) {
    for (; size >= 5; data += 5, size -= 5)
        f->data[cuzk_ld_u32le(data) % f->len] = data[4];
}

static void cut(file_t *f, const uint8_t *data, size_t size) {
    if (size >= 4) f->len = cuzk_ld_u32le(data) % (f->len + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!dir[0]) prepare();
    if (!size || size >= MOST) return 0;
    empty_dir();
    db = sound_db;
    log_file = sound_log;
    const uint8_t what = data[0] % 5;
    if (what == 0) {
        memcpy(db.data, data + 1, size - 1);
        db.len = size - 1;
    } else if (what <= 2) {
        damage(what == 1 ? &db : &log_file, data + 1, size - 1);
    } else {
        cut(what == 3 ? &db : &log_file, data + 1, size - 1);
    }
    write_file(&db, "journal.db");
    if (what) write_file(&log_file, "journal.db-wal");
    if (use()) FUZZ_CHECK(use());
    return 0;
}
