#ifndef TRAIN_DIGITS_DATA_H
#define TRAIN_DIGITS_DATA_H

#define IMAGE_PIXELS 64
#define CLASSES 10
#define TRAIN_ROWS 1437
#define MAX_ROWS 2000

/* The digits: pixels scaled to 0 .. 1, one row an image. */
struct digits {
    int rows;
    float image[MAX_ROWS][IMAGE_PIXELS];
    unsigned char label[MAX_ROWS];
};

/** digits_load: read the gzipped table at `path`. 0, or -1 with a message on stderr. */
int digits_load(const char *path, struct digits *digits);

#endif
