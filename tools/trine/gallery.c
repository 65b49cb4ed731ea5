/* trine gallery: list the generators, or write a matrix. */
#include <stdio.h>
#include <string.h>

#include "command.h"

struct options {
    struct parse parse;
    const char *spec, *out;
    int precision;
    bool general;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'o': o->out = arg; return 0;
    case 'p': return choose(state, "--precision", arg, precision_choices, &o->precision);
    case 'g': o->general = true; return 0;
    case ARGP_KEY_ARG:
        if (o->spec) return refuse(state, "unexpected argument \"%s\"", arg);
        o->spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->spec && !o->out) return refuse(state, "gallery %s: no output file; add -o FILE", o->spec);
        if (!o->spec && o->out) return refuse(state, "gallery -o %s: no matrix; `trine gallery` lists them", o->out);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "file to write: .mtx, .mtx.gz, or a Rutherford-Boeing ending (.rb, .rua, .rsa, ...)", 0},
    {"precision", 'p', "s|d|c|z", 0, "type of the values (default d)", 0},
    {"general", 'g', NULL, 0, "write all entries of a symmetric or Hermitian matrix, not its lower triangle only", 0},
    {0}};
static const struct argp argp = {.options = options,
                                 .parser = parse,
                                 .args_doc = "\nSPEC -o FILE",
                                 .doc = "List the gallery of test matrices, or write one of them. SPEC is a name, or "
                                        "name:key=value,key=value, as in laplace3d:n=40.\v"};

static int list(void)
{
    const char *name, *parameters, *description;
    for (int i = 0; trine_gallery_entry(i, &name, &parameters, &description); i++)
        printf("%s%s%s\n    %s\n", name, *parameters ? ":" : "", parameters, description);
    return EXIT_OK;
}

static trine_status write(trine_context ctx, const struct options *o)
{
    trine_matrix A = NULL;
    trine_matrix_structure s;
    trine_status status = trine_matrix_gallery(ctx, &A, o->spec, (trine_dtype)o->precision);
    if (!status) status = trine_matrix_get_structure(A, &s);
    if (!status) {
        const bool complex = o->precision == TRINE_C || o->precision == TRINE_Z;
        const trine_symmetry symmetry = o->general                           ? TRINE_GENERAL
                                        : s.symmetric && s.n_rows            ? TRINE_SYMMETRIC
                                        : complex && s.hermitian && s.n_rows ? TRINE_HERMITIAN
                                                                             : TRINE_GENERAL;
        status = trine_matrix_write(A, o->out, symmetry);
        if (!status)
            printf("%s: %s x %s, %s entries%s\n", o->out, grouped(s.n_rows), grouped(s.n_cols), grouped(s.nnz),
                   symmetry == TRINE_SYMMETRIC   ? ", symmetric: lower triangle written"
                   : symmetry == TRINE_HERMITIAN ? ", Hermitian: lower triangle written"
                                                 : "");
    }
    trine_matrix_destroy(&A);
    return status;
}

int command_gallery(int argc, char **argv)
{
    struct options o = {.precision = TRINE_D};
    int code = parse_options(&argp, argc, argv, &o.parse);
    if (code) return code;
    if (!o.spec) return list();
    trine_context ctx = NULL;
    trine_status status = trine_context_create(&ctx, "cpu");
    step_begin("writing");
    if (!status) status = write(ctx, &o);
    step_end();
    code = status ? fail_status(status) : EXIT_OK;
    trine_context_destroy(&ctx);
    return code;
}
