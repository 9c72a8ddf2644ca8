# Operators: two libraries above the public interface, under the names that programs link. Each file of
# aclnn/ says by its prefix which of the two it belongs to.

file(GLOB nnop CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/aclnn/nnop_*.c)
file(GLOB opapi CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/aclnn/opapi_*.c)
add_library(nnopbase SHARED ${nnop})
add_library(opapi SHARED ${opapi})
target_link_libraries(nnopbase PRIVATE rp_flags PUBLIC reprise)
target_link_libraries(opapi PRIVATE rp_flags Threads::Threads PUBLIC nnopbase)
foreach(name nnopbase opapi)
  add_library(Reprise::${name} ALIAS ${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_options(${name} PRIVATE -Wl,-z,defs -Wl,-z,nodelete) # kernels are registered for good
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${RP_LIB64} BUILD_RPATH $ORIGIN INSTALL_RPATH $ORIGIN)
endforeach()

if(BUILD_TESTING)
  add_library(aclnn_test STATIC ${nnop} ${opapi})
  target_include_directories(aclnn_test PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(aclnn_test PRIVATE rp_flags PUBLIC reprise_test)
endif()
