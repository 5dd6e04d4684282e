/* SPDX-License-Identifier: MIT */
/* A second file of the program of interface.cc that includes the header: nothing in it may be defined twice. */
#include <unspool/unspool.hpp>

unspool::stack capture_elsewhere() { return unspool::stack::capture(); }
