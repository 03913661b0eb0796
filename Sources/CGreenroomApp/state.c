#define _GNU_SOURCE 1
#include "app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In an archive, a value is "object/name=", a letter for its type (s for a text, i for a number), and its text.
 * Characters that a name or a field must not contain are escaped. An activity has its values unescaped, with names
 * below "restored". */
static const char special[] = "%/=";

struct value {
    char *object, *name, *text;
    char type; /* 0 in an activity */
};

struct greenroom_state {
    struct value *values;
    size_t count;
    bool is_activity;
    const char *object; /* the object whose names are used; belongs to the caller */
    char *version, *document;
    uint64_t saved_at;
};

struct greenroom_state *state_new(bool is_activity) {
    struct greenroom_state *state = calloc(1, sizeof *state);
    if (!state) return NULL;
    state->is_activity = is_activity;
    state->object = "";
    return state;
}

static void value_free(struct value *value) {
    free(value->object);
    free(value->name);
    free(value->text);
}

void state_free(struct greenroom_state *state) {
    if (!state) return;
    for (size_t i = 0; i < state->count; i++) value_free(&state->values[i]);
    free(state->values);
    free(state->version);
    free(state->document);
    free(state);
}

void state_turn_to(struct greenroom_state *state, const char *object) { state->object = object; }

void state_describe(struct greenroom_state *state, const char *version, uint64_t saved_at, const char *document) {
    state->version = version ? strdup(version) : NULL;
    state->document = document ? strdup(document) : NULL;
    state->saved_at = saved_at;
}

const char *state_object(const struct greenroom_state *state, size_t n) {
    for (size_t i = 0; i < state->count; i++) {
        const char *object = state->values[i].object;
        bool is_known = !*object;
        for (size_t j = 0; j < i && !is_known; j++) is_known = strcmp(state->values[j].object, object) == 0;
        if (!is_known && n-- == 0) return object;
    }
    return NULL;
}

static struct value *find(const struct greenroom_state *state, const char *name) {
    for (size_t i = 0; i < state->count; i++) {
        struct value *value = &state->values[i];
        if (strcmp(value->object, state->object) == 0 && strcmp(value->name, name) == 0) return value;
    }
    return NULL;
}

/* Adds a value and takes over its three strings, which are NULL if there was no memory. */
static bool add(struct greenroom_state *state, char *object, char *name, char *text, char type) {
    struct value value = {object, name, text, type};
    struct value *values =
        object && name && text ? list_grow(state->values, &state->count, sizeof *values) : NULL;
    if (!values) return value_free(&value), false;
    state->values = values;
    values[state->count - 1] = value;
    return true;
}

static bool set(struct greenroom_state *state, const char *name, const char *text, char type) {
    if (state->is_activity && strchr(name, '=')) return false;
    struct value *old = find(state, name);
    if (!text) {
        if (!old) return true;
        value_free(old);
        list_remove(state->values, &state->count, sizeof *old, (size_t)(old - state->values));
        return true;
    }
    if (!old)
        return add(state, strdup(state->object), strdup(name), strdup(text), state->is_activity ? 0 : type);
    char *copy = strdup(text);
    if (!copy) return false;
    free(old->text);
    old->text = copy;
    old->type = state->is_activity ? 0 : type;
    return true;
}

bool greenroom_state_set(struct greenroom_state *state, const char *name, const char *value) {
    return set(state, name, value, 's');
}

bool greenroom_state_set_number(struct greenroom_state *state, const char *name, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return set(state, name, text, 'i');
}

const char *greenroom_state_get(const struct greenroom_state *state, const char *name) {
    const struct value *value = find(state, name);
    return value && (value->type == 's' || value->type == 0) ? value->text : NULL;
}

bool greenroom_state_get_number(const struct greenroom_state *state, const char *name, int64_t *number) {
    const struct value *value = find(state, name);
    if (!value || (value->type != 'i' && value->type != 0)) return false;
    char *end;
    errno = 0;
    long long read = strtoll(value->text, &end, 10);
    if (end == value->text || *end || errno == ERANGE) return false;
    *number = read;
    return true;
}

const char *greenroom_state_version(const struct greenroom_state *state) { return state->version; }
uint64_t greenroom_state_saved_at(const struct greenroom_state *state) { return state->saved_at; }
const char *greenroom_state_launch_document(const struct greenroom_state *state) { return state->document; }

/* --- On the wire. */

/* Appends the escaped text. The buffer has room for twice the text. */
static char *escape(char *end, const char *text) {
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (!found) {
            *end++ = *text;
        } else {
            *end++ = special[0];
            *end++ = (char)('0' + (found - special));
        }
    }
    *end = 0;
    return end;
}

static char *unescaped(const char *text, size_t size) {
    char *copy = malloc(size + 1), *end = copy;
    if (!copy) return NULL;
    for (size_t i = 0; i < size; i++) {
        bool is_escape = text[i] == special[0] && i + 1 < size && text[i + 1] >= '0' && text[i + 1] <= '2';
        *end++ = is_escape ? special[text[++i] - '0'] : text[i];
    }
    *end = 0;
    return copy;
}

static char *append_value(char *end, const struct value *value, bool is_activity) {
    if (is_activity) {
        bool is_type = strcmp(value->name, "type") == 0;
        return stpcpy(stpcpy(stpcpy(stpcpy(end, is_type ? "restored" : "restored."), is_type ? "" : value->name), "="), value->text);
    }
    end = stpcpy(escape(end, value->object), "/");
    end = stpcpy(escape(end, value->name), "=");
    *end++ = value->type;
    return escape(end, value->text);
}

char **state_encode(const struct greenroom_state *state, size_t *count, size_t *byte_count) {
    size_t size = 0;
    for (size_t i = 0; i < state->count; i++) {
        const struct value *value = &state->values[i];
        size += 2 * (strlen(value->object) + strlen(value->name) + strlen(value->text)) + sizeof "restored./=s";
    }
    char **vector = malloc((state->count + 1) * sizeof *vector + size);
    if (!vector) return NULL;
    char *end = (char *)(vector + state->count + 1), *begin = end;
    /* The type of an activity comes first, because the other values follow it. */
    size_t filled = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < state->count; i++) {
            bool is_first = !state->is_activity || strcmp(state->values[i].name, "type") == 0;
            if (is_first != (turn == 0)) continue;
            vector[filled++] = end;
            end = append_value(end, &state->values[i], state->is_activity) + 1;
        }
    }
    *count = state->count;
    *byte_count = (size_t)(end - begin);
    return vector;
}

static void take(struct greenroom_state *state, const char *field) {
    const char *equals = strchr(field, '=');
    if (!equals) return;
    const char *text = equals + 1;
    if (state->is_activity) {
        size_t prefix = strlen("restored");
        if (strncmp(field, "restored", prefix) != 0 || (field[prefix] != '=' && field[prefix] != '.')) return;
        const char *name = field + prefix + 1;
        char *copy = field[prefix] == '=' ? strdup("type") : strndup(name, (size_t)(equals - name));
        (void)add(state, strdup(""), copy, strdup(text), 0);
        return;
    }
    const char *slash = memchr(field, '/', (size_t)(equals - field));
    if (!slash || !*text) return;
    (void)add(state, unescaped(field, (size_t)(slash - field)),
        unescaped(slash + 1, (size_t)(equals - slash - 1)), unescaped(text + 1, strlen(text + 1)), *text);
}

struct greenroom_state *state_decode(char **fields, size_t count, bool is_activity) {
    struct greenroom_state *state = state_new(is_activity);
    for (size_t i = 0; state && i < count; i++) take(state, fields[i]);
    if (state && is_activity && !find(state, "type")) {
        state_free(state);
        return NULL;
    }
    return state;
}
