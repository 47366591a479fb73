/* DESIGN. A list under one mutex; a linear search is nothing against a proof. An entry is first
 * `loading`, with its key still being read outside the mutex, then ready. Users are counted; an
 * entry that is out of date while somebody uses it is `stale`: no longer found, freed by its last
 * user.
 *
 * Times of files tick, in the worst file systems every two seconds. A file written, loaded and
 * written again within one tick would look unchanged, so a file that had changed less than
 * RACY_NS before it was loaded is compared by content at each use until that time has passed once.
 */
#include "compat/key_cache.h"

#include "api/pool.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/units.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RACY_NS INT64_C(3000000000)

enum { DEFAULT_ENTRIES = 8 };

typedef struct {
    bool buffer;
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    cuzk_digest digest; /* of a buffer */
} identity;

typedef enum { LOADING, READY, STALE } entry_state;

struct cuzk_cached_key {
    identity id;
    char *path; /* of a file */
    cuzk_key *key;
    entry_state state;
    bool racy;
    cuzk_digest content; /* of a racy file */
    size_t users;
    uint64_t last_use;
    cuzk_cached_key *next;
};

static struct {
    pthread_mutex_t mu;
    pthread_cond_t loaded;
    cuzk_cached_key *list; /* LOADING and READY */
    bool configured, has_pool;
    size_t users; /* of all entries, stale ones too */
    size_t max_entries, max_bytes;
    uint64_t digest_key, clock, hits, loads;
} cache = {.mu = PTHREAD_MUTEX_INITIALIZER, .loaded = PTHREAD_COND_INITIALIZER};

/* A size, or a number, of the environment; what does not say one is not passed over. */
static cuzk_status env_size(size_t *out, const char *name, size_t otherwise, cuzk_err *err) {
    const char *text = getenv(name);
    uint64_t v;
    *out = otherwise;
    if (!text || !*text) return CUZK_OK;
    if (!cuzk_parse_bytes(text, &v) || v > SIZE_MAX)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s is %s: a number, or a size such as 4GiB",
                            name, text);
    *out = (size_t)v;
    return CUZK_OK;
}

static size_t quarter_of_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages / 4 * (size_t)size : (size_t)1 << 30;
}

/* Under the mutex. */
static cuzk_status configure(cuzk_err *err) {
    if (cache.configured) return CUZK_OK;
    CUZK_TRY(cuzk_random(&cache.digest_key, sizeof cache.digest_key, err));
    CUZK_TRY(env_size(&cache.max_entries, "CUZK_KEY_CACHE_ENTRIES", DEFAULT_ENTRIES, err));
    CUZK_TRY(env_size(&cache.max_bytes, "CUZK_KEY_CACHE_BYTES", quarter_of_memory(), err));
    cache.configured = true;
    return CUZK_OK;
}

static bool same_identity(const identity *a, const identity *b) {
    return a->buffer == b->buffer && a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
           cuzk_digest_eq(a->digest, b->digest);
}

/* Mapped files cost no memory. */
static size_t entry_bytes(const cuzk_cached_key *e) {
    return e->key ? e->key->copy_len : 0;
}

static void free_entry(cuzk_cached_key *e) {
    cuzk__key_free(e->key);
    cuzk_free(e->path);
    cuzk_free(e);
}

/* Under the mutex. Takes e out of the list; frees it now, or with its last user. */
static void retire(cuzk_cached_key *e) {
    cuzk_cached_key **link = &cache.list;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    e->state = STALE;
    if (e->users == 0) free_entry(e);
}

static void count(size_t *entries, size_t *bytes) {
    *entries = *bytes = 0;
    for (const cuzk_cached_key *e = cache.list; e; e = e->next) {
        ++*entries;
        *bytes += entry_bytes(e);
    }
}

/* Under the mutex. */
static void shrink(size_t max_entries, size_t max_bytes) {
    for (;;) {
        size_t entries, bytes;
        count(&entries, &bytes);
        if (entries <= max_entries && bytes <= max_bytes) break;
        cuzk_cached_key *oldest = NULL;
        for (cuzk_cached_key *e = cache.list; e; e = e->next) {
            if (e->users == 0 && e->state == READY && (!oldest || e->last_use < oldest->last_use))
                oldest = e;
        }
        if (!oldest) break;
        retire(oldest);
    }
}

/* Under the mutex. The worker threads live as long as the cache holds anything or somebody uses
 * one of its keys. */
static cuzk_status hold_pool(void) {
    bool want = cache.list || cache.users;
    cuzk_pool *unused;
    if (want && !cache.has_pool) {
        CUZK_TRY(cuzk__shared_pool_get(&unused));
        cache.has_pool = true;
    } else if (!want && cache.has_pool) {
        cuzk__shared_pool_put();
        cache.has_pool = false;
    }
    return CUZK_OK;
}

/* The same where the last user has left or might have: nothing can fail then. */
static void let_pool_go(void) {
    (void)!hold_pool();
}

static int64_t to_ns(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool changed_lately(const identity *id) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t latest = id->mtime_ns > id->ctime_ns ? id->mtime_ns : id->ctime_ns;
    return to_ns(t) - latest < RACY_NS;
}

/* What is to be found or loaded. */
typedef struct {
    identity id;
    const char *path; /* or */
    const void *data;
    size_t n;
} wanted;

static cuzk_digest content_of(const cuzk_key *key) {
    return cuzk_digest_of(key->zkey->data, key->zkey->len, cache.digest_key);
}

/* Under the mutex: false when a racy file changed without its times telling. */
static bool still_good(cuzk_cached_key *e) {
    if (!e->racy) return true;
    bool over = !changed_lately(&e->id);
    if (!cuzk_digest_eq(content_of(e->key), e->content)) return false;
    e->racy = !over;
    return true;
}

/* Under the mutex. The entry, which may still be loading, or NULL. Older versions of the file are
 * retired. */
static cuzk_cached_key *find(const wanted *w) {
    cuzk_cached_key *found = NULL;
    for (cuzk_cached_key *e = cache.list, *next; e; e = next) {
        next = e->next;
        bool same = same_identity(&e->id, &w->id);
        bool same_path = w->path && e->path && strcmp(e->path, w->path) == 0;
        if (e->state == READY && ((same && !still_good(e)) || (!same && same_path)))
            retire(e);
        else if (same)
            found = e;
    }
    return found;
}

/* What loading finds out. */
typedef struct {
    cuzk_key *key;
    identity id;
    bool racy;
    cuzk_digest content;
} loaded;

/* To the device that the environment names. */
static cuzk_status to_device(cuzk_key *key, cuzk_err *err) {
    const char *word = getenv("CUZK_DEVICE");
    cuzk_device device;
    if (!cuzk_device_parse(word && *word ? word : NULL, &device))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "CUZK_DEVICE is %s: cpu, cuda or cuda:N", word);
    return cuzk__key_to_device(key, &device, 0, true, err);
}

/* Without the mutex. */
static cuzk_status load(loaded *out, const wanted *w, cuzk_err *err) {
    cuzk_pool *pool;
    *out = (loaded){.id = w->id};
    cuzk_status st = cuzk__shared_pool_current(&pool);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "cannot start worker threads");
    if (!w->path) {
        CUZK_TRY(cuzk__key_copy(&out->key, w->data, w->n, "the proving key", CUZK_ZKEY_CHECK_FULL,
                                pool, err));
        return to_device(out->key, err);
    }
    CUZK_TRY(cuzk__key_open(&out->key, w->path, CUZK_ZKEY_CHECK_FULL, pool, err));
    CUZK_TRY(to_device(out->key, err));
    /* What was mapped counts, not what was seen before. */
    const cuzk_map *m = &out->key->zkey->map;
    out->id = (identity){.dev = m->dev,
                         .ino = m->ino,
                         .size = m->len,
                         .mtime_ns = m->mtime_ns,
                         .ctime_ns = m->ctime_ns};
    out->racy = changed_lately(&out->id);
    if (out->racy) out->content = content_of(out->key);
    return CUZK_OK;
}

static void fill_entry(cuzk_cached_key *e, const loaded *l) {
    e->key = l->key;
    e->id = l->id;
    e->racy = l->racy;
    e->content = l->content;
    e->state = READY;
}

/* Under the mutex: a LOADING entry in the list, and the threads to load with. */
static cuzk_status new_entry(cuzk_cached_key **out, const wanted *w, cuzk_err *err) {
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "out of memory");
    cuzk_cached_key *e = mem;
    e->id = w->id;
    e->state = LOADING;
    if (cuzk_strdup(&e->path, w->path) != CUZK_OK) {
        cuzk_free(e);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "out of memory");
    }
    e->next = cache.list;
    cache.list = e;
    cuzk_status st = hold_pool();
    if (st != CUZK_OK) {
        retire(e);
        return cuzk_err_set(err, st, "cannot start worker threads");
    }
    *out = e;
    return CUZK_OK;
}

static void use(cuzk_cached_key *e) {
    e->users++;
    e->last_use = ++cache.clock;
    cache.users++;
}

static cuzk_status acquire_locked(cuzk_cached_key **out, const wanted *w, cuzk_err *err) {
    cuzk_cached_key *e;
    while ((e = find(w)) != NULL && e->state == LOADING)
        pthread_cond_wait(&cache.loaded, &cache.mu);
    if (e) {
        use(e);
        cache.hits++;
        *out = e;
        return CUZK_OK;
    }
    CUZK_TRY(new_entry(&e, w, err));
    cache.loads++;
    pthread_mutex_unlock(&cache.mu);
    loaded l;
    cuzk_status st = load(&l, w, err);
    pthread_mutex_lock(&cache.mu);
    fill_entry(e, &l);
    if (st == CUZK_OK) {
        use(e);
        *out = e;
        shrink(cache.max_entries, cache.max_bytes);
    } else {
        retire(e);
        let_pool_go();
    }
    pthread_cond_broadcast(&cache.loaded);
    return st;
}

static cuzk_status acquire(cuzk_cached_key **out, wanted *w, cuzk_err *err) {
    *out = NULL;
    pthread_mutex_lock(&cache.mu);
    cuzk_status st = configure(err);
    pthread_mutex_unlock(&cache.mu);
    if (st != CUZK_OK) return st;
    if (!w->path) {
        w->id.buffer = true;
        w->id.size = w->n;
        w->id.digest = cuzk_digest_of(w->data, w->n, cache.digest_key);
    }
    pthread_mutex_lock(&cache.mu);
    st = acquire_locked(out, w, err);
    pthread_mutex_unlock(&cache.mu);
    return st;
}

cuzk_status cuzk__key_cache_file(cuzk_cached_key **out, const char *path, cuzk_err *err) {
    struct stat s;
    wanted w = {.path = path};
    /* A file that cannot be looked at is left to the reader, whose message says why. */
    if (stat(path, &s) == 0)
        w.id = (identity){.dev = (uint64_t)s.st_dev,
                          .ino = (uint64_t)s.st_ino,
                          .size = (uint64_t)s.st_size,
                          .mtime_ns = to_ns(s.st_mtim),
                          .ctime_ns = to_ns(s.st_ctim)};
    return acquire(out, &w, err);
}

cuzk_status cuzk__key_cache_buffer(cuzk_cached_key **out, const void *data, size_t n,
                                   cuzk_err *err) {
    return acquire(out, &(wanted){.data = data, .n = n}, err);
}

const cuzk_key *cuzk__key_cache_key(const cuzk_cached_key *entry) {
    return entry->key;
}

void cuzk__key_cache_release(cuzk_cached_key *entry) {
    if (!entry) return;
    pthread_mutex_lock(&cache.mu);
    entry->users--;
    cache.users--;
    if (entry->state == STALE) {
        if (entry->users == 0) free_entry(entry);
    } else {
        shrink(cache.max_entries, cache.max_bytes);
    }
    let_pool_go();
    pthread_mutex_unlock(&cache.mu);
}

void cuzk__key_cache_stats(cuzk_key_cache_stats *out) {
    pthread_mutex_lock(&cache.mu);
    count(&out->entries, &out->bytes);
    out->hits = cache.hits;
    out->loads = cache.loads;
    pthread_mutex_unlock(&cache.mu);
}

void cuzk__key_cache_trim(size_t entries, size_t bytes) {
    pthread_mutex_lock(&cache.mu);
    shrink(entries, bytes);
    let_pool_go();
    pthread_mutex_unlock(&cache.mu);
}

void cuzk__key_cache_limit(size_t entries, size_t bytes) {
    cuzk_err unused;
    pthread_mutex_lock(&cache.mu);
    if (configure(&unused) == CUZK_OK) {
        cache.max_entries = entries;
        cache.max_bytes = bytes;
        shrink(entries, bytes);
        let_pool_go();
    }
    pthread_mutex_unlock(&cache.mu);
}
