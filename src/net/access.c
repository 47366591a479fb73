/* DESIGN: tokens are kept as SHA-256 and compared as such, all of them, byte by byte without
 * stopping: what an attacker can vary is a hash that he cannot steer, so time tells nothing. */
#include "net/access.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { HASH = 32, TOKEN_FILE_MOST = 1 << 20, TOKEN_LEAST = 16 };

/* What the files said when they were read. */
typedef struct content {
    cuzk__tls *tls;
    uint8_t (*tokens)[HASH];
    size_t n_tokens;
} content;

struct cuzk_net_access {
    cuzk_net_security security;
    char *strings[4];
    pthread_mutex_t lock; /* of now */
    content now;
};

static cuzk_status add_token(content *a, const char *p, size_t n, unsigned line, const char *path,
                             cuzk_err *err) {
    if (n < TOKEN_LEAST)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: line %u: a token of %zu bytes is easily guessed; at least %d, as "
                            "from `openssl rand -hex 32`",
                            path, line, n, TOKEN_LEAST);
    for (size_t i = 0; i < n; i++)
        if (p[i] <= ' ' || p[i] >= 127)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "%s: line %u: a token is of visible ASCII characters", path, line);
    CUZK_TRY(cuzk_realloc((void **)&a->tokens, a->n_tokens + 1, sizeof *a->tokens));
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, p, n, a->tokens[a->n_tokens]));
    a->n_tokens++;
    return CUZK_OK;
}

static cuzk_status read_lines(content *a, const char *text, size_t len, const char *path,
                              cuzk_err *err) {
    unsigned line = 0;
    for (size_t at = 0; at < len;) {
        const char *p = text + at;
        const char *end = memchr(p, '\n', len - at);
        size_t n = end ? (size_t)(end - p) : len - at;
        at += n + 1;
        line++;
        while (n && (p[n - 1] == '\r' || p[n - 1] == ' ' || p[n - 1] == '\t'))
            n--;
        if (n && p[0] != '#') CUZK_TRY(add_token(a, p, n, line, path, err));
    }
    if (!a->n_tokens)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: no token in it; one a line", path);
    return CUZK_OK;
}

static cuzk_status read_tokens(content *a, const char *path, cuzk_err *err) {
    cuzk_map map;
    struct stat sb;
    CUZK_TRY(cuzk_map_file(&map, path, err));
    cuzk_status st = CUZK_OK;
    if (stat(path, &sb) == 0 && (sb.st_mode & 07) != 0)
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                          "%s: everybody may read it; its mode should be 0600 (chmod 600)", path);
    else if (map.len > TOKEN_FILE_MOST)
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: too large for a file of tokens", path);
    else
        st = read_lines(a, (const char *)map.data, map.len, path, err);
    cuzk_map_close(&map);
    return st;
}

static void drop(content *c) {
    cuzk__tls_free(c->tls); /* connections made with it keep what they need */
    cuzk_free(c->tokens);
    *c = (content){0};
}

static cuzk_status read_content(content *c, const cuzk_net_security *s, cuzk_err *err) {
    cuzk_status st = CUZK_OK;
    *c = (content){0};
    if (s->cert_file) st = cuzk__tls_server(&c->tls, s, err);
    if (st == CUZK_OK && s->token_file) st = read_tokens(c, s->token_file, err);
    if (st != CUZK_OK) drop(c);
    return st;
}

cuzk_status cuzk_net_access_new(cuzk_net_access **out, const cuzk_net_security *s, cuzk_err *err) {
    static const cuzk_net_security nothing;
    cuzk_net_access *a;
    cuzk_status st;
    *out = NULL;
    if (!s) s = &nothing;
    if (s->client_ca_file && !s->cert_file)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "client certificates need TLS: give the server's certificate and key");
    if (!s->cert_file != !s->key_file)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "TLS needs a certificate and its key: %s",
                            s->cert_file ? "the key is missing" : "the certificate is missing");
    CUZK_TRY(cuzk_alloc((void **)&a, 1, sizeof *a));
    pthread_mutex_init(&a->lock, NULL);
    const char *from[] = {s->cert_file, s->key_file, s->client_ca_file, s->token_file};
    for (int i = 0; i < 4; i++)
        CUZK_TRY_GOTO(cuzk_strdup(&a->strings[i], from[i]), out);
    a->security = (cuzk_net_security){a->strings[0], a->strings[1], a->strings[2], a->strings[3],
                                      s->socket_mode};
    CUZK_TRY_GOTO(read_content(&a->now, &a->security, err), out);
    *out = a;
    return CUZK_OK;
out:
    cuzk_net_access_free(a);
    return st;
}

cuzk_status cuzk_net_access_reload(cuzk_net_access *a, cuzk_err *err) {
    content fresh, before;
    if (!a) return CUZK_OK;
    CUZK_TRY(read_content(&fresh, &a->security, err));
    pthread_mutex_lock(&a->lock);
    before = a->now;
    a->now = fresh;
    pthread_mutex_unlock(&a->lock);
    drop(&before);
    return CUZK_OK;
}

void cuzk_net_access_free(cuzk_net_access *a) {
    if (!a) return;
    for (int i = 0; i < 4; i++)
        cuzk_free(a->strings[i]);
    drop(&a->now);
    pthread_mutex_destroy(&a->lock);
    cuzk_free(a);
}

bool cuzk__access_has_tls(const cuzk_net_access *a) {
    return a && a->security.cert_file;
}

cuzk_status cuzk__access_io(cuzk__io *io, int fd, cuzk_net_access *a, cuzk_err *err) {
    if (!a) return cuzk__io_init(io, fd, NULL, NULL, err);
    pthread_mutex_lock(&a->lock);
    const cuzk_status st = cuzk__io_init(io, fd, a->now.tls, NULL, err);
    pthread_mutex_unlock(&a->lock);
    return st;
}

mode_t cuzk__access_mode(const cuzk_net_access *a) {
    return a ? a->security.socket_mode : 0;
}

const cuzk_net_security *cuzk__access_security(const cuzk_net_access *a) {
    return a ? &a->security : NULL;
}

static bool holds(const content *c, const uint8_t hash[HASH]) {
    unsigned found = 0;
    for (size_t i = 0; i < c->n_tokens; i++) {
        unsigned differ = 0;
        for (size_t k = 0; k < HASH; k++)
            differ |= (unsigned)(hash[k] ^ c->tokens[i][k]);
        found |= (differ - 1) >> 31; /* 1 when nothing differs */
    }
    return found & 1;
}

bool cuzk__access_allows(cuzk_net_access *a, const char *authorization) {
    uint8_t hash[HASH];
    if (!a || !a->security.token_file) return true;
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0) return false;
    const char *token = authorization + 7;
    while (*token == ' ')
        token++;
    if (cuzk_hash_once(CUZK_HASH_SHA256, token, strlen(token), hash) != CUZK_OK) return false;
    pthread_mutex_lock(&a->lock);
    const bool found = holds(&a->now, hash);
    pthread_mutex_unlock(&a->lock);
    return found;
}
