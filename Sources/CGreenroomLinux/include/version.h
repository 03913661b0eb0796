/* The product's version, and the only place to change it. A test compares it with the manual's
 * pages and the Python module, which cannot read it here. */
#pragma once
#define GREENROOM_VERSION "0.1.0"
