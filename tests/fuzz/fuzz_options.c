/* Options of the command, one argument a line, and names of devices, which are the value of one of them. */
#include "fuzz.h"

#include "command.h"

struct options {
    struct parse parse;
    int precision, count, flags, arguments;
    int64_t size;
    trine_read_options limits;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    trine_context ctx;
    switch (key) {
    case 'p': return choose(state, "--precision", arg, precision_choices, &o->precision);
    case 'c': return parse_count(state, "--count", arg, -3, 1000, &o->count);
    case 's': return parse_size(state, "--size", arg, &o->size);
    case 'd':
        if (fuzz_status(trine_context_create(&ctx, arg))) MUST(!ctx);
        else MUST(trine_context_destroy(&ctx) == TRINE_SUCCESS && !ctx);
        return 0;
    case 'f': o->flags++; return 0;
    case ARGP_KEY_ARG: return ++o->arguments > 2 ? refuse(state, "unexpected argument \"%s\"", arg) : 0;
    default: return parse_limit(key, arg, state, &o->limits);
    }
}

static const struct argp_option options[] = {{"precision", 'p', "s|d|c|z", 0, "a choice", 0},
                                             {"count", 'c', "N", 0, "a number", 0},
                                             {"size", 's', "N", 0, "a size", 0},
                                             {"device", 'd', "DEVICE", 0, "a device", 0},
                                             {"flag", 'f', NULL, 0, "a flag", 0},
                                             LIMIT_OPTIONS,
                                             {0}};
static const struct argp argp = {.options = options, .parser = parse};

/** Options that print their help end the process. */
static bool asks_for_help(const char *arg)
{
    return *arg == '-' && (arg[1] != '-' ? strchr(arg, 'h') != NULL : arg[2] == 'h' || arg[2] == 'u');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { most = 16 };
    char *text = fuzz_text(data, size), *rest = NULL, *argv[most + 1] = {"solve"};
    int argc = 1;
    for (char *arg = strtok_r(text, "\n", &rest); arg && argc < most; arg = strtok_r(NULL, "\n", &rest)) {
        if (asks_for_help(arg)) return 0;
        argv[argc++] = arg;
    }
    struct options o = {.size = 1, .limits = {1, 1}};
    const int code = parse_options(&argp, argc, argv, &o.parse);
    MUST(code == 0 || code == EXIT_USAGE);
    MUST(o.count >= -3 && o.count <= 1000 && o.precision >= 0 && o.precision <= TRINE_Z);
    MUST(o.size >= 1 && o.limits.max_rows >= 1 && o.limits.max_text >= 1);
    return 0;
}
