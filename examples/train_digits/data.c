#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static int parse_row(char *line, float *image, unsigned char *label)
{
    char *at = line;
    for (int i = 0; i <= IMAGE_PIXELS; i++) {
        char *end;
        const long value = strtol(at, &end, 10);
        const long limit = i < IMAGE_PIXELS ? 16 : CLASSES - 1;
        if (end == at || value < 0 || value > limit) {
            return -1;
        }
        if (i < IMAGE_PIXELS) {
            image[i] = (float)value / 16.0f;
        } else {
            *label = (unsigned char)value;
        }
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

int digits_load(const char *path, struct digits *digits)
{
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "train_digits: cannot open %s\n", path);
        return -1;
    }
    char line[1024];
    int rows = 0;
    int bad = 0;
    while (!bad && rows < MAX_ROWS && gzgets(file, line, sizeof line) != NULL) {
        bad = parse_row(line, digits->image[rows], &digits->label[rows]);
        rows++;
    }
    gzclose(file);
    if (bad || rows <= TRAIN_ROWS) {
        fprintf(stderr, "train_digits: %s: row %d is not 64 pixels and a label\n", path, rows);
        return -1;
    }
    digits->rows = rows;
    return 0;
}
