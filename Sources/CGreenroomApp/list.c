/* Lists: an allocation and a count. */
#include "app.h"

#include <stdlib.h>
#include <string.h>

void *list_grow(void *list, size_t *count, size_t size) {
    void *grown = realloc(list, (*count + 1) * size);
    if (grown) ++*count;
    return grown;
}

void list_remove(void *list, size_t *count, size_t size, size_t index) {
    char *place = (char *)list + index * size;
    memmove(place, place + size, (--*count - index) * size);
}
