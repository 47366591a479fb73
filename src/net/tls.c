#include "net/tls.h"

#include "base/mem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct cuzk__tls {
    SSL_CTX *ctx;
};

static const unsigned char h2_only[] = {2, 'h', '2'};

/* OpenSSL's newest complaint, in words; empties its queue. */
static const char *complaint(void) {
    const unsigned long code = ERR_peek_last_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return text ? text : "no reason given";
}

static cuzk_status load_pair(SSL_CTX *ctx, const char *cert, const char *key, cuzk_err *err) {
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: no certificate in PEM form: %s", cert,
                            complaint());
    if (!key || SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) {
        const unsigned long code = ERR_peek_last_error();
        if (ERR_GET_LIB(code) == ERR_LIB_X509 &&
            (ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH ||
             ERR_GET_REASON(code) == X509_R_KEY_TYPE_MISMATCH))
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "%s is not the key of %s: it belongs to another certificate (%s)",
                                key, cert, complaint());
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: no private key in PEM form: %s",
                            key ? key : "(no key file given)", complaint());
    }
    if (SSL_CTX_check_private_key(ctx) != 1)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s is not the key of %s: %s", key, cert,
                            complaint());
    return CUZK_OK;
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                     const unsigned char *in, unsigned in_len, void *arg) {
    (void)ssl;
    (void)arg;
    unsigned char *found;
    if (SSL_select_next_proto(&found, out_len, h2_only, sizeof h2_only, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

static cuzk_status new_context(cuzk__tls **out, const SSL_METHOD *method, cuzk_err *err) {
    cuzk__tls *t;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&t, 1, sizeof *t));
    t->ctx = SSL_CTX_new(method);
    if (!t->ctx) {
        cuzk_free(t);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "TLS: %s", complaint());
    }
    SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(t->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                    SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(t->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
    /* of TLS 1.2 only what HTTP/2 allows (RFC 9113 9.2.2) */
    SSL_CTX_set_cipher_list(t->ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
    *out = t;
    return CUZK_OK;
}

cuzk_status cuzk__tls_server(cuzk__tls **out, const cuzk_net_security *s, cuzk_err *err) {
    cuzk__tls *t;
    cuzk_status st;
    *out = NULL;
    CUZK_TRY(new_context(&t, TLS_server_method(), err));
    SSL_CTX_set_alpn_select_cb(t->ctx, choose_h2, NULL);
    CUZK_TRY_GOTO(load_pair(t->ctx, s->cert_file, s->key_file, err), out);
    if (s->client_ca_file) {
        STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(s->client_ca_file);
        if (!names || SSL_CTX_load_verify_file(t->ctx, s->client_ca_file) != 1) {
            st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: no certificates in PEM form: %s",
                              s->client_ca_file, complaint());
            sk_X509_NAME_pop_free(names, X509_NAME_free);
            goto out;
        }
        SSL_CTX_set_client_CA_list(t->ctx, names);
        SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        /* resumed sessions would need a context id; a client certificate is shown every time */
        SSL_CTX_set_session_cache_mode(t->ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(t->ctx, 0);
    }
    *out = t;
    return CUZK_OK;
out:
    cuzk__tls_free(t);
    return st;
}

cuzk_status cuzk__tls_client(cuzk__tls **out, const char *ca_file, const char *cert_file,
                             const char *key_file, cuzk_err *err) {
    cuzk__tls *t;
    cuzk_status st;
    *out = NULL;
    CUZK_TRY(new_context(&t, TLS_client_method(), err));
    SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_alpn_protos(t->ctx, h2_only, sizeof h2_only) != 0) {
        st = cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "TLS: %s", complaint());
        goto out;
    }
    const int loaded = ca_file ? SSL_CTX_load_verify_file(t->ctx, ca_file)
                               : SSL_CTX_set_default_verify_paths(t->ctx);
    if (loaded != 1) {
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: no certificates in PEM form: %s",
                          ca_file ? ca_file : "the system's authorities", complaint());
        goto out;
    }
    if (cert_file) CUZK_TRY_GOTO(load_pair(t->ctx, cert_file, key_file, err), out);
    *out = t;
    return CUZK_OK;
out:
    cuzk__tls_free(t);
    return st;
}

void cuzk__tls_free(cuzk__tls *t) {
    if (!t) return;
    SSL_CTX_free(t->ctx);
    cuzk_free(t);
}

/* ---- one connection ---- */

/* A name or an address to hold the certificate against. */
static bool expect_host(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1) return true;
    ERR_clear_error();
    char *name = (char *)(uintptr_t)host; /* copied; OpenSSL's macro drops the const */
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

cuzk_status cuzk__io_init(cuzk__io *io, int fd, const cuzk__tls *tls, const char *host,
                          cuzk_err *err) {
    *io = (cuzk__io){.fd = fd};
    if (!tls) return CUZK_OK;
    SSL *ssl = SSL_new(tls->ctx);
    if (!ssl || SSL_set_fd(ssl, fd) != 1 || (host && !expect_host(ssl, host))) {
        SSL_free(ssl);
        io->fd = -1;
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "TLS: %s", complaint());
    }
    if (host)
        SSL_set_connect_state(ssl);
    else
        SSL_set_accept_state(ssl);
    io->ssl = ssl;
    io->shaking = true;
    return CUZK_OK;
}

void cuzk__io_close(cuzk__io *io) {
    if (io->ssl) {
        ERR_clear_error();
        if (!io->shaking) SSL_shutdown(io->ssl);
        SSL_free(io->ssl);
        ERR_clear_error();
    }
    if (io->fd >= 0) close(io->fd);
    *io = (cuzk__io){.fd = -1};
}

/* What an SSL call that moved nothing means. */
static int outcome(cuzk__io *io, int result) {
    const int saved = errno;
    switch (SSL_get_error(io->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        io->wants = EPOLLIN;
        return CUZK__IO_WAIT;
    case SSL_ERROR_WANT_WRITE:
        io->wants = EPOLLOUT;
        return CUZK__IO_WAIT;
    case SSL_ERROR_ZERO_RETURN:
        return CUZK__IO_END;
    default:
        errno = saved;
        return CUZK__IO_BROKEN;
    }
}

int cuzk__io_shake(cuzk__io *io, cuzk_err *err) {
    if (!io->shaking) return 1;
    ERR_clear_error();
    errno = 0;
    const int done = SSL_do_handshake(io->ssl);
    if (done != 1) {
        const int what = outcome(io, done);
        if (what == CUZK__IO_WAIT) return CUZK__IO_WAIT;
        const long verified = SSL_get_verify_result(io->ssl);
        cuzk_err_set(err, CUZK_STATUS_IO, "TLS: %s",
                     verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                     : ERR_peek_error()    ? complaint()
                     : errno               ? strerror(errno)
                                           : "the other side closed the connection");
        ERR_clear_error();
        return CUZK__IO_BROKEN;
    }
    const unsigned char *alpn;
    unsigned n;
    SSL_get0_alpn_selected(io->ssl, &alpn, &n);
    if (n != 2 || memcmp(alpn, "h2", 2) != 0) {
        cuzk_err_set(err, CUZK_STATUS_IO, "TLS: the other side does not speak HTTP/2 (ALPN h2)");
        return CUZK__IO_BROKEN;
    }
    io->shaking = false;
    return 1;
}

static ssize_t plain_outcome(cuzk__io *io, ssize_t n, uint32_t wants) {
    if (n >= 0) return n;
    if (errno == EAGAIN || errno == EINTR) {
        io->wants = wants;
        return CUZK__IO_WAIT;
    }
    return CUZK__IO_BROKEN;
}

ssize_t cuzk__io_read(cuzk__io *io, void *buf, size_t n) {
    if (!io->ssl) return plain_outcome(io, recv(io->fd, buf, n, 0), EPOLLIN);
    size_t got = 0;
    ERR_clear_error();
    const int ok = SSL_read_ex(io->ssl, buf, n, &got);
    return ok == 1 ? (ssize_t)got : outcome(io, ok);
}

ssize_t cuzk__io_write(cuzk__io *io, const void *buf, size_t n) {
    if (!io->ssl) return plain_outcome(io, send(io->fd, buf, n, MSG_NOSIGNAL), EPOLLOUT);
    size_t put = 0;
    ERR_clear_error();
    const int ok = SSL_write_ex(io->ssl, buf, n, &put);
    return ok == 1 ? (ssize_t)put : outcome(io, ok);
}

bool cuzk__io_identity(const cuzk__io *io, char *out, size_t cap) {
    X509 *cert = io->ssl ? SSL_get1_peer_certificate(io->ssl) : NULL;
    if (!cert) return false;
    BIO *text = BIO_new(BIO_s_mem());
    bool ok =
        text && X509_NAME_print_ex(text, X509_get_subject_name(cert), 0, XN_FLAG_RFC2253) >= 0;
    if (ok) {
        char *p;
        const long n = BIO_get_mem_data(text, &p);
        const size_t keep = n < 0 ? 0 : (size_t)n < cap - 1 ? (size_t)n : cap - 1;
        memcpy(out, p, keep);
        out[keep] = 0;
        ok = keep > 0;
    }
    BIO_free(text);
    X509_free(cert);
    return ok;
}
