/* Files that are part of the program; the build makes them bytes. */
#ifndef CUZK_RPC_EMBEDDED_H
#define CUZK_RPC_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>

typedef struct cuzk__rpc_file {
    const uint8_t *data;
    size_t len;
} cuzk__rpc_file;

extern const cuzk__rpc_file cuzk__rpc_descriptors; /* FileDescriptorSet of proto/ */
extern const cuzk__rpc_file cuzk__rpc_page_html;
extern const cuzk__rpc_file cuzk__rpc_page_css;
extern const cuzk__rpc_file cuzk__rpc_page_js;
extern const cuzk__rpc_file cuzk__rpc_page_icon;
extern const cuzk__rpc_file cuzk__rpc_openapi;

#endif
