# The real parts that the library stands on. Test and example parts are looked for where they are used, so
# that -DBUILD_TESTING=OFF asks for none of them.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv>=1.44)
pkg_check_modules(LIBSODIUM REQUIRED IMPORTED_TARGET libsodium>=1.0.18)
pkg_check_modules(LIBNUMA REQUIRED IMPORTED_TARGET numa>=2.0.14)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)

add_library(rp_parts INTERFACE)
target_link_libraries(rp_parts INTERFACE
  PkgConfig::LIBUV PkgConfig::LIBSODIUM PkgConfig::LIBNUMA PkgConfig::JANSSON
  Threads::Threads ${CMAKE_DL_LIBS} m rt)
