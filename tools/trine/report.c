/* Errors, progress, numbers and JSON. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

const char exit_code_help[] =
    "Exit codes\n"
    "  0  success\n"
    "  2  an option or argument is wrong\n"
    "  3  a file cannot be read or written\n"
    "  4  a file does not follow its format, or claims more than --max-rows or --max-text allow\n"
    "  5  the matrix or the right-hand side does not suit: not square, empty, not finite, wrong length, not of the method's form\n"
    "  6  a zero or missing pivot, not positive definite, or numbers beyond the range of the precision\n"
    "  7  the device is not there, or it failed\n"
    "  8  out of host or device memory\n"
    "  9  a part that is not built, not installed or not supported\n"
    " 10  singular to working precision, or the solution does not satisfy the system\n"
    "Every error is one line on stderr that begins with \"trine: \".\n";

/* ---------------------------------------------------------------- progress */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    pthread_t thread;
    const char *name;
    double begin;
    bool watched, running;
} step = {.mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

/** Wakes up every second while the step lasts. */
static void *watch(void *unused)
{
    (void)unused;
    bool shown = false;
    pthread_mutex_lock(&step.mutex);
    while (step.running) {
        struct timespec next;
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_sec += 1;
        pthread_cond_timedwait(&step.ended, &step.mutex, &next);
        const double age = trine_wall_time() - step.begin;
        if (step.running && age > 2) {
            fprintf(stderr, "\r%s ... %.0f s ", step.name, age);
            shown = true;
        }
    }
    pthread_mutex_unlock(&step.mutex);
    if (shown) fprintf(stderr, "\r\033[K");
    return NULL;
}

void step_begin(const char *name)
{
    step.name = name;
    step.begin = trine_wall_time();
    step.running = true;
    step.watched = isatty(STDERR_FILENO) && pthread_create(&step.thread, NULL, watch, NULL) == 0;
}

double step_end(void)
{
    if (!step.running) return 0;
    const double seconds = trine_wall_time() - step.begin;
    pthread_mutex_lock(&step.mutex);
    step.running = false;
    pthread_cond_signal(&step.ended);
    pthread_mutex_unlock(&step.mutex);
    if (step.watched) pthread_join(step.thread, NULL);
    return seconds;
}

/* ------------------------------------------------------------------ errors */

/** File names and file contents may hold anything: still one line. */
static void make_one_line(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

int fail(enum exit_code code, const char *format, ...)
{
    step_end();
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    make_one_line(line);
    fprintf(stderr, "trine: %s\n", line);
    return code;
}

int finish_output(int code)
{
    if (fflush(stdout) && code == EXIT_OK)
        return fail(EXIT_FILE, "standard output cannot be written: %s", strerror(errno));
    return code;
}

void say(const char *kind, const char *message)
{
    char line[1024];
    snprintf(line, sizeof line, "%s", message);
    make_one_line(line);
    fprintf(stderr, "%strine: %s: %s\n", step.running && step.watched ? "\r\033[K" : "", kind, line);
}

int fail_status(trine_status status)
{
    static const enum exit_code codes[TRINE_STATUS_COUNT] = {
        [TRINE_ERR_ARGUMENT] = EXIT_USAGE,      [TRINE_ERR_STATE] = EXIT_USAGE,
        [TRINE_ERR_MEMORY] = EXIT_MEMORY,       [TRINE_ERR_STRUCTURE] = EXIT_STRUCTURE,
        [TRINE_ERR_SINGULAR] = EXIT_SINGULAR,   [TRINE_ERR_NOT_DEFINITE] = EXIT_SINGULAR,
        [TRINE_ERR_UNSUPPORTED] = EXIT_MISSING, [TRINE_ERR_NOT_BUILT] = EXIT_MISSING,
        [TRINE_ERR_DEVICE] = EXIT_DEVICE,       [TRINE_ERR_IO] = EXIT_FILE,
        [TRINE_ERR_FORMAT] = EXIT_FORMAT,       [TRINE_ERR_NO_CONVERGENCE] = EXIT_SINGULAR};
    return fail(codes[status], "%s", trine_last_error());
}

/* ------------------------------------------------------------------ output */

const char *grouped(int64_t number)
{
    static char texts[8][32];
    static int next;
    char *text = texts[next++ % 8], digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)number), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-') text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

void add_string(struct strings *strings, const char *text)
{
    char **items = realloc(strings->items, ((size_t)strings->count + 1) * sizeof *items);
    if (!items) return;
    strings->items = items;
    items[strings->count] = strdup(text);
    strings->count += items[strings->count] != NULL;
}

void free_strings(struct strings *strings)
{
    for (int64_t i = 0; i < strings->count; i++) free(strings->items[i]);
    free(strings->items);
    *strings = (struct strings){0};
}

static bool json_first;

/** Bytes of the UTF-8 character at c (RFC 3629); 0 if there is none. */
static int utf8_length(const unsigned char *c)
{
    const int length = *c < 0x80 ? 1 : *c < 0xC2 ? 0 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : *c < 0xF5 ? 4 : 0;
    for (int k = 1; k < length; k++)
        if ((c[k] & 0xC0) != 0x80) return 0;
    const bool overlong = (*c == 0xE0 && c[1] < 0xA0) || (*c == 0xF0 && c[1] < 0x90);
    const bool surrogate = *c == 0xED && c[1] > 0x9F, too_large = *c == 0xF4 && c[1] > 0x8F;
    return overlong || surrogate || too_large ? 0 : length;
}

/** JSON is UTF-8; names of files need not be. A byte 0xE9 that is not becomes the four characters \xe9. */
static void json_text(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const int length = utf8_length(c);
        if (!length) printf("\\\\x%02x", *c);
        else if (*c == '"' || *c == '\\') printf("\\%c", *c);
        else if (*c < ' ') printf("\\u%04x", *c);
        else fwrite(c, 1, (size_t)length, stdout);
        c += length ? length : 1;
    }
    putchar('"');
}

static void json_key(const char *key)
{
    if (!json_first) printf(", ");
    json_first = false;
    json_text(key);
    printf(": ");
}

void json_begin(void)
{
    printf("{");
    json_first = true;
}
void json_end(void) { printf("}\n"); }
void json_string(const char *key, const char *value)
{
    json_key(key);
    json_text(value);
}
void json_integer(const char *key, int64_t value)
{
    json_key(key);
    printf("%lld", (long long)value);
}
void json_boolean(const char *key, bool value)
{
    json_key(key);
    printf(value ? "true" : "false");
}

/** JSON has no NaN and no Inf. */
static void print_number(double value)
{
    if (isfinite(value)) printf("%.9g", value);
    else printf("null");
}

void json_number(const char *key, double value)
{
    json_key(key);
    print_number(value);
}

void json_integers(const char *key, const int64_t *values, int64_t count)
{
    json_key(key);
    for (int64_t i = 0; i < count; i++) printf("%s%lld", i ? ", " : "[", (long long)values[i]);
    printf("%s", count ? "]" : "[]");
}

void json_numbers(const char *key, const double *values, int64_t count)
{
    json_key(key);
    putchar('[');
    for (int64_t i = 0; i < count; i++) {
        if (i) printf(", ");
        print_number(values[i]);
    }
    putchar(']');
}

void json_strings(const char *key, const struct strings *values)
{
    json_key(key);
    putchar('[');
    for (int64_t i = 0; i < values->count; i++) {
        if (i) printf(", ");
        json_text(values->items[i]);
    }
    putchar(']');
}
