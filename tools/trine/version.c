/* trine version: what was compiled in, and what is here. */
#include <stdio.h>

#include "command.h"
#include "commit.h"
#include "direct_loader.h"

struct options {
    struct parse parse;
    bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG: return refuse(state, "unexpected argument \"%s\"", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {{"json", 'j', NULL, 0, "one JSON object", 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Print the version, what was compiled in, and which device `--device auto` takes."};

int command_version(int argc, char **argv)
{
    struct options o = {0};
    int code = parse_options(&argp, argc, argv, &o.parse);
    if (code) return code;

    trine_build_info build;
    trine_get_build_info(&build);
    const struct direct_library *direct;
    char why_not[512] = "";
    if (direct_load(&direct)) snprintf(why_not, sizeof why_not, "%s", trine_last_error());
    trine_context ctx;
    trine_context_info device;
    trine_status status = trine_context_create(&ctx, "auto");
    if (status) return fail_status(status);
    trine_context_get_info(ctx, &device);
    trine_context_destroy(&ctx);

    if (o.json) {
        json_begin();
        json_string("version", build.version);
        json_string("commit", TRINE_COMMIT);
        json_boolean("cuda", build.cuda);
        json_string("cuda_architectures", build.cuda_architectures);
        json_integer("cuda_runtime_version", build.cuda_runtime_version);
        json_integer("openmp", build.openmp);
        json_boolean("direct", !*why_not);
        json_string("device", device.name);
        json_string("device_fallback", device.fallback);
        json_end();
        return EXIT_OK;
    }
    printf("trine %s\ncommit  %s\n", build.version, TRINE_COMMIT);
    if (build.cuda)
        printf("CUDA    runtime %d.%d, architectures %s\n", build.cuda_runtime_version / 1000,
               build.cuda_runtime_version / 10 % 100, build.cuda_architectures);
    else printf("CUDA    not built in\n");
    printf("OpenMP  %d\n", build.openmp);
    printf("direct  %s\n", *why_not ? why_not : direct->path);
    printf("device  %s%s%s%s\n", device.name, *device.fallback ? " (" : "", device.fallback,
           *device.fallback ? ")" : "");
    return EXIT_OK;
}
