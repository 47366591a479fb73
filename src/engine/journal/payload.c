/* DESIGN. The stored form of a payload: "cuzkpay1", the number of parts and the length of each as
 * 64-bit little-endian integers, zeros to a multiple of 64 bytes, then each part with zeros to a
 * multiple of 64 bytes. One part or many, the form says where each ends, so its SHA-256 tells
 * payloads apart, and `sha256sum` of a spool file is its name. */
#include "engine/journal/internal.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGN = 64, MAX_PARTS = 1 << 20 };
static const char magic[8] = "cuzkpay1";
static const uint8_t zeros[ALIGN];

cuzk_status cuzk__digest(uint8_t out[CUZK__DIGEST], const cuzk_journal_part *pieces, size_t n) {
    cuzk_hash *h;
    CUZK_TRY(cuzk_hash_new(&h, CUZK_HASH_SHA256));
    for (size_t i = 0; i < n; i++)
        if (pieces[i].len) cuzk_hash_update(h, pieces[i].data, pieces[i].len);
    return cuzk_hash_final(h, out);
}

static size_t padding(size_t n) {
    return (ALIGN - n % ALIGN) % ALIGN;
}

/* The form as pieces: header, padding, then part and padding in turn. */
typedef struct form_t {
    uint8_t *header;
    cuzk_journal_part *pieces; /* 2 + 2 n */
    size_t n_pieces;
    uint64_t bytes, parts_bytes;
} form_t;

static void form_free(form_t *f) {
    cuzk_free(f->header);
    cuzk_free(f->pieces);
}

static cuzk_status form_make(form_t *f, const cuzk_journal_part *parts, size_t n, cuzk_err *err) {
    memset(f, 0, sizeof *f);
    if (n > MAX_PARTS)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "a payload of %zu parts; at most %d", n,
                            MAX_PARTS);
    const size_t header = 16 + 8 * n;
    void *mem = NULL;
    CUZK_TRY(cuzk_alloc(&mem, header, 1));
    f->header = mem;
    CUZK_TRY(cuzk_alloc(&mem, 2 + 2 * n, sizeof *f->pieces));
    f->pieces = mem;
    memcpy(f->header, magic, sizeof magic);
    cuzk_st_u64le(f->header + 8, n);
    f->pieces[0] = (cuzk_journal_part){f->header, header};
    f->pieces[1] = (cuzk_journal_part){zeros, padding(header)};
    f->n_pieces = 2 + 2 * n;
    f->bytes = header + padding(header);
    for (size_t i = 0; i < n; i++) {
        cuzk_st_u64le(f->header + 16 + 8 * i, parts[i].len);
        f->pieces[2 + 2 * i] = parts[i];
        f->pieces[3 + 2 * i] = (cuzk_journal_part){zeros, padding(parts[i].len)};
        f->parts_bytes += parts[i].len;
        f->bytes += parts[i].len + padding(parts[i].len);
    }
    return CUZK_OK;
}

/* Finds the parts in p->form; false when it is no form. */
static bool form_parse(cuzk_payload *p) {
    cuzk_cursor c = cuzk_cursor_init(p->form, p->form_bytes);
    const uint8_t *at;
    uint64_t n, len;
    void *mem;
    if (!cuzk_rd_bytes(&c, 8, &at) || memcmp(at, magic, 8) || !cuzk_rd_u64le(&c, &n) ||
        n > MAX_PARTS || n > cuzk_cursor_left(&c) / 8)
        return false;
    if (cuzk_alloc(&mem, n, sizeof *p->parts) != CUZK_OK) return false;
    p->parts = mem;
    p->n = n;
    for (size_t i = 0; i < n; i++) {
        if (!cuzk_rd_u64le(&c, &len)) return false;
        p->parts[i].len = len;
    }
    if (!cuzk_rd_bytes(&c, padding(c.off), &at)) return false;
    for (size_t i = 0; i < n; i++) {
        if (!cuzk_rd_bytes(&c, p->parts[i].len, &at)) return false;
        p->parts[i].data = at;
        p->bytes += p->parts[i].len;
        if (!cuzk_rd_bytes(&c, padding(p->parts[i].len), &at)) return false;
    }
    return cuzk_cursor_left(&c) == 0;
}

/* Maps the spool file of p->digest. */
static cuzk_status map_form(cuzk_payload *p, cuzk_err *err) {
    char name[CUZK__NAME];
    struct stat sb;
    cuzk__hex(name, p->digest, CUZK__DIGEST);
    int fd = openat(p->j->spool.dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &sb) != 0) {
        const int e = errno;
        if (fd >= 0) close(fd);
        return cuzk_err_set(err, e == ENOENT ? CUZK_STATUS_BAD_INPUT : CUZK_STATUS_IO,
                            "%s/%s: %s; the job has to be submitted again", p->j->spool.path, name,
                            e == ENOENT ? "the payload's file is gone" : strerror(e));
    }
    p->form_bytes = (uint64_t)sb.st_size;
    void *map = MAP_FAILED;
    if (p->form_bytes) map = mmap(NULL, p->form_bytes, PROT_READ, MAP_SHARED, fd, 0);
    const int e = p->form_bytes ? errno : EINVAL;
    close(fd);
    if (map == MAP_FAILED)
        return cuzk_err_set(err, e == ENOMEM ? CUZK_STATUS_NO_MEMORY : CUZK_STATUS_BAD_INPUT,
                            "%s/%s: cannot map: %s", p->j->spool.path, name, strerror(e));
    p->form = map;
    p->mapped = true;
    return CUZK_OK;
}

static cuzk_status copy_form(cuzk_payload *p, const cuzk_journal_part *pieces, size_t n,
                             uint64_t bytes) {
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, bytes, 1));
    p->form = mem;
    p->form_bytes = bytes;
    size_t at = 0;
    for (size_t i = 0; i < n; at += pieces[i].len, i++)
        if (pieces[i].len) memcpy(p->form + at, pieces[i].data, pieces[i].len);
    return CUZK_OK;
}

static cuzk_status payload_new(cuzk_journal *j, cuzk_payload **out) {
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_payload)));
    *out = mem;
    (*out)->j = j;
    return CUZK_OK;
}

void cuzk_payload_free(cuzk_payload *p) {
    if (!p) return;
    if (p->mapped)
        munmap(p->form, p->form_bytes);
    else
        cuzk_free(p->form);
    if (p->pinned) cuzk__unpin(p->j, p->digest);
    cuzk_free(p->parts);
    cuzk_free(p);
}

size_t cuzk_payload_parts(const cuzk_payload *p) {
    return p->n;
}

cuzk_journal_part cuzk_payload_part(const cuzk_payload *p, size_t i) {
    return p->parts[i];
}

const uint8_t *cuzk_payload_digest(const cuzk_payload *p) {
    return p->digest;
}

/* Only a digest, which needs the journal's key to be made again. */
static cuzk_status put_secret(cuzk_payload *p, const form_t *f) {
    uint8_t inner[2 * CUZK__DIGEST];
    memcpy(inner, p->j->secret_key, CUZK__DIGEST);
    CUZK_TRY(cuzk__digest(inner + CUZK__DIGEST, f->pieces, f->n_pieces));
    const cuzk_journal_part keyed = {inner, sizeof inner};
    cuzk_status st = cuzk__digest(p->digest, &keyed, 1);
    cuzk_wipe(inner, sizeof inner);
    p->secret = true;
    return st;
}

static cuzk_status put_open(cuzk_payload *p, const form_t *f, cuzk_err *err) {
    CUZK_TRY(cuzk__digest(p->digest, f->pieces, f->n_pieces));
    if (f->bytes > CUZK__INLINE) {
        CUZK_TRY(cuzk__pin(p->j, p->digest));
        p->pinned = true;
        CUZK_TRY(cuzk__spool_store(p->j, p->digest, f->pieces, f->n_pieces, f->bytes, true, err));
        CUZK_TRY(map_form(p, err));
    } else {
        CUZK_TRY(cuzk__spool_room(p->j, f->bytes, err));
        CUZK_TRY(copy_form(p, f->pieces, f->n_pieces, f->bytes));
    }
    return form_parse(p) ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}

cuzk_status cuzk_journal_put(cuzk_journal *j, cuzk_payload **out, const cuzk_journal_part *parts,
                             size_t n, bool secret, cuzk_err *err) {
    cuzk_err why = {0};
    form_t form = {0};
    cuzk_payload *p = NULL;
    *out = NULL;
    cuzk_status st = payload_new(j, &p);
    if (st == CUZK_OK) st = form_make(&form, parts, n, &why);
    if (st == CUZK_OK) {
        p->bytes = 0;
        st = secret ? put_secret(p, &form) : put_open(p, &form, &why);
        if (secret) p->bytes = form.parts_bytes;
    }
    form_free(&form);
    if (st == CUZK_OK) {
        *out = p;
        return CUZK_OK;
    }
    cuzk_payload_free(p);
    return cuzk_err_set(err, st, "%s", why.msg[0] ? why.msg : "a payload: out of memory");
}

/* The row of a job's payload: its digest, and its bytes when they are in the database. */
static cuzk_status read_row(cuzk_payload *p, uint64_t job, cuzk_err *err) {
    cuzk_journal *j = p->j;
    cuzk_status st = CUZK_OK;
    bool found = false;
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, "SELECT digest,bytes,data,data IS NULL FROM blob WHERE digest="
                                     "(SELECT payload FROM job WHERE seq=?1)");
    cuzk__q_int(&q, 1, (int64_t)job);
    if (cuzk__q_row(&q)) {
        const cuzk_journal_part digest = cuzk__q_col(&q, 0), data = cuzk__q_col(&q, 2);
        found = digest.len == CUZK__DIGEST;
        if (found) memcpy(p->digest, digest.data, CUZK__DIGEST);
        if (found && !cuzk__q_col_int(&q, 3) && q.rc == SQLITE_ROW)
            st = copy_form(p, &data, 1, data.len);
        p->form_bytes = (uint64_t)cuzk__q_col_int(&q, 1);
    }
    const int rc = cuzk__q_end(&q);
    if (rc != SQLITE_OK) st = cuzk__db_error(&j->r, rc, err);
    pthread_mutex_unlock(&j->read_lock);
    if (st == CUZK_OK && !found)
        st = cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "job %llu has no payload in the journal",
                          (unsigned long long)job);
    return st;
}

cuzk_status cuzk_journal_payload(cuzk_journal *j, cuzk_payload **out, uint64_t job, cuzk_err *err) {
    cuzk_payload *p = NULL;
    uint8_t digest[CUZK__DIGEST];
    *out = NULL;
    cuzk_status st = payload_new(j, &p);
    if (st == CUZK_OK) st = read_row(p, job, err);
    if (st == CUZK_OK && !p->form) {
        const uint64_t bytes = p->form_bytes;
        st = cuzk__pin(j, p->digest);
        p->pinned = st == CUZK_OK;
        if (st == CUZK_OK) st = map_form(p, err);
        if (st == CUZK_OK && p->form_bytes != bytes)
            st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                              "%s: a payload's file has %llu bytes, not %llu: it was damaged; the "
                              "job has to be submitted again",
                              j->spool.path, (unsigned long long)p->form_bytes,
                              (unsigned long long)bytes);
    }
    if (st == CUZK_OK) {
        const cuzk_journal_part whole = {p->form, p->form_bytes};
        st = cuzk__digest(digest, &whole, 1);
    }
    if (st == CUZK_OK && (memcmp(digest, p->digest, CUZK__DIGEST) || !form_parse(p)))
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                          "%s: the payload of job %llu is not what was stored: it was damaged; the "
                          "job has to be submitted again",
                          j->spool.path, (unsigned long long)job);
    if (st == CUZK_OK) {
        *out = p;
        return CUZK_OK;
    }
    cuzk_payload_free(p);
    return st;
}
