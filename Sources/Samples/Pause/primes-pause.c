/// The addon of primes.cjs, for Node.js's stable interface:
///
///     cc -shared -fPIC -o primes-pause.node primes-pause.c
///
/// The functions are those of <node_api.h>, declared here so that the sample needs no headers of
/// Node.js.
#include <greenroom-prewarm.h>
#include <stddef.h>
#include <stdint.h>

typedef void *napi_env, *napi_value, *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
int napi_create_array(napi_env, napi_value *result);
int napi_create_function(napi_env, const char *name, size_t length, napi_callback, void *data,
                         napi_value *result);
int napi_create_string_utf8(napi_env, const char *text, size_t length, napi_value *result);
int napi_get_undefined(napi_env, napi_value *result);
int napi_set_element(napi_env, napi_value array, uint32_t index, napi_value element);
int napi_set_named_property(napi_env, napi_value object, const char *name, napi_value property);

/// prewarmPause() -> the launch's words, or undefined if the process was not prewarmed
static napi_value prewarm_pause(napi_env env, napi_callback_info call) {
    (void)call;
    int argc = 0;
    char **argv = NULL, **envp = NULL;
    napi_value words;
    if (!GREENROOM_PREWARM_PAUSE(&argc, &argv, &envp)) {
        napi_get_undefined(env, &words);
        return words;
    }
    napi_create_array(env, &words);
    for (int i = 0; i < argc; i++) {
        napi_value word;
        napi_create_string_utf8(env, argv[i], SIZE_MAX, &word);
        napi_set_element(env, words, (uint32_t)i, word);
    }
    return words;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports);
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
    napi_value function;
    napi_create_function(env, "prewarmPause", SIZE_MAX, prewarm_pause, NULL, &function);
    napi_set_named_property(env, exports, "prewarmPause", function);
    return exports;
}
