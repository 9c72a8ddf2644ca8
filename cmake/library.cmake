# The rooms' object libraries, and from the same objects the shared library that users link and, for
# white-box tests, a static one in which internal symbols are visible.

set(rp_objects "")
foreach(room IN LISTS RP_ROOMS)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${room}/*.c)
  rp_isa_filter(sources)
  if(NOT sources)
    continue()
  endif()
  add_library(rp_${room} OBJECT ${sources})
  target_include_directories(rp_${room} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(rp_${room} PRIVATE rp_flags rp_parts)
  set_target_properties(rp_${room} PROPERTIES C_VISIBILITY_PRESET hidden)
  list(APPEND rp_objects $<TARGET_OBJECTS:rp_${room}>)
endforeach()
if(NOT rp_objects)
  message(FATAL_ERROR "none of the rooms (${RP_ROOMS}) has a C file")
endif()

# Programs look for these names; all of them are one file, so whichever are linked or opened, a process
# holds one copy of the library (the loader compares the file, and the soname is libreprise.so.0).
set(RP_LINKER_NAMES hccl hcomm ascendcl acl_rt acl_rt_impl msprofiler profapi)
set(RP_LIB64 ${PROJECT_BINARY_DIR}/lib64)

add_library(reprise SHARED ${rp_objects})
add_library(Reprise::reprise ALIAS reprise)
target_link_libraries(reprise PRIVATE rp_parts)
target_include_directories(reprise INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
set_target_properties(reprise PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LIBRARY_OUTPUT_DIRECTORY ${RP_LIB64}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/reprise.map)
target_link_options(reprise PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/reprise.map -Wl,-z,defs -Wl,-z,now
  -Wl,-z,nodelete) # fork handlers and thread keys point into it, so dlclose must not unmap it

set(soname libreprise.so.${PROJECT_VERSION_MAJOR})
foreach(name IN LISTS RP_LINKER_NAMES)
  add_custom_command(TARGET reprise POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink ${soname} ${RP_LIB64}/lib${name}.so VERBATIM)
endforeach()

# rp_link_as_user(TARGET): the public headers and the linker names, as a program elsewhere would have them.
function(rp_link_as_user target)
  add_dependencies(${target} reprise)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_directories(${target} PRIVATE ${RP_LIB64})
  target_link_libraries(${target} PRIVATE rp_flags hccl ascendcl Threads::Threads m)
  set_target_properties(${target} PROPERTIES BUILD_RPATH ${RP_LIB64})
endfunction()

if(BUILD_TESTING)
  add_library(reprise_test STATIC ${rp_objects})
  target_include_directories(reprise_test INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(reprise_test PUBLIC rp_parts)
endif()
