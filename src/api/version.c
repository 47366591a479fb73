#include "cuzk/cuzk.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

_Static_assert(CUZK_VERSION_MAJOR == CUZK__BUILD_MAJOR && CUZK_VERSION_MINOR == CUZK__BUILD_MINOR &&
                   CUZK_VERSION_PATCH == CUZK__BUILD_PATCH,
               "include/cuzk/cuzk.h and CMakeLists.txt name different versions");

const char *cuzk_version(void) {
    return TEXT(CUZK_VERSION_MAJOR) "." TEXT(CUZK_VERSION_MINOR) "." TEXT(CUZK_VERSION_PATCH);
}
