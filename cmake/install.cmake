# PREFIX/include, PREFIX/lib64 (on every distribution: programs say -L$ASCEND_HOME_PATH/lib64), the two
# environment scripts, pkg-config files and a CMake package. The tree can be moved after installation.

include(CMakePackageConfigHelpers)

if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
  set(CMAKE_INSTALL_PREFIX /usr/local/reprise CACHE PATH "Where to install" FORCE)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include FILES_MATCHING PATTERN "*.h")
install(TARGETS reprise nnopbase opapi EXPORT reprise LIBRARY DESTINATION lib64)
foreach(name IN LISTS RP_LINKER_NAMES)
  install(FILES ${RP_LIB64}/lib${name}.so DESTINATION lib64)
endforeach()

# One template serves both scripts: they differ in their name and in how far below PREFIX they lie.
set(RP_ENV_FILE set_env.sh)
set(RP_ENV_UP "")
configure_file(cmake/set_env.sh.in set_env.sh @ONLY)
set(RP_ENV_FILE setenv.bash)
set(RP_ENV_UP "/..")
configure_file(cmake/set_env.sh.in setenv.bash @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/set_env.sh DESTINATION .)
install(FILES ${PROJECT_BINARY_DIR}/setenv.bash DESTINATION bin)

# rp_install_pc(TEMPLATE NAME [DESCRIPTION REQUIRES]): what pkg-config NAME answers.
function(rp_install_pc template RP_PC_NAME)
  set(RP_PC_DESCRIPTION "${ARGV2}")
  set(RP_PC_REQUIRES "${ARGV3}")
  configure_file(cmake/${template}.pc.in ${RP_PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${RP_PC_NAME}.pc DESTINATION lib64/pkgconfig)
endfunction()
rp_install_pc(reprise reprise)
rp_install_pc(aclnn nnopbase "Tensors and executors of aclnn" reprise)
rp_install_pc(aclnn opapi "Operators of aclnn" nnopbase)

# Below share/, since find_package() looks into PREFIX/lib64 on some distributions only.
set(package_dir share/cmake/Reprise)
configure_package_config_file(cmake/RepriseConfig.cmake.in RepriseConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(RepriseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RepriseConfig.cmake ${PROJECT_BINARY_DIR}/RepriseConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT reprise NAMESPACE Reprise:: FILE RepriseTargets.cmake DESTINATION ${package_dir})
