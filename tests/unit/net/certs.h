/* Certificates made on the spot: an authority, and pairs signed by it. */
#ifndef CUZK_TESTS_CERTS_H
#define CUZK_TESTS_CERTS_H

#include "support.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

typedef struct pair {
    X509 *cert;
    EVP_PKEY *key;
} pair;

static inline void add_extension(X509 *cert, X509 *issuer, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(ext);
    assert_int_equal(X509_add_ext(cert, ext, -1), 1);
    X509_EXTENSION_free(ext);
}

/* Signed by the authority, or by itself when that is NULL: an authority then. */
static inline pair make_pair(const char *name, const pair *authority) {
    static long serial = 1;
    pair p = {X509_new(), EVP_EC_gen("P-256")};
    assert_true(p.cert && p.key);
    X509_set_version(p.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(p.cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(p.cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(p.cert), 3600);
    X509_set_pubkey(p.cert, p.key);
    X509_NAME *subject = X509_get_subject_name(p.cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509 *issuer = authority ? authority->cert : p.cert;
    X509_set_issuer_name(p.cert, X509_get_subject_name(issuer));
    if (authority)
        add_extension(p.cert, issuer, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    else
        add_extension(p.cert, issuer, NID_basic_constraints, "critical,CA:TRUE");
    assert_true(X509_sign(p.cert, authority ? authority->key : p.key, EVP_sha256()) > 0);
    return p;
}

static inline void free_pair(pair *p) {
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
}

/* Writes DIR/NAME.pem and DIR/NAME.key; gives their paths (each cap bytes). */
static inline void write_pair(const pair *p, const char *dir, const char *name, char *cert,
                              char *key, size_t cap) {
    snprintf(cert, cap, "%s/%s.pem", dir, name);
    snprintf(key, cap, "%s/%s.key", dir, name);
    FILE *f = fopen(cert, "w");
    assert_true(f && PEM_write_X509(f, p->cert) == 1);
    fclose(f);
    f = fopen(key, "w");
    assert_true(f && PEM_write_PrivateKey(f, p->key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(f);
}

#endif
