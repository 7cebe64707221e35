int neighbour_double(int number);
