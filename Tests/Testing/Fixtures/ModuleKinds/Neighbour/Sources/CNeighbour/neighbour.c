#include "neighbour.h"

int neighbour_double(int number) { return 2 * number; }
