# Installed below one prefix (inside a wheel: the package folder ttnn_shim/): lib/, include/, lib/cmake/TT-NN/, _native/.
include(CMakePackageConfigHelpers)
if(SKBUILD)
  set(_root ttnn_shim/)
else()
  set(_root "")
endif()
install(TARGETS ttnn_shim EXPORT TT-NN LIBRARY DESTINATION ${_root}lib)
if(SHIM_DNNL_LIBRARY)
  get_filename_component(_dnnl_file ${SHIM_DNNL_LIBRARY} REALPATH)
  install(FILES ${_dnnl_file} DESTINATION ${_root}lib RENAME libdnnl.so.3)
endif()
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ DESTINATION ${_root}include FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT TT-NN NAMESPACE TTNN:: FILE TT-NN-targets.cmake DESTINATION ${_root}lib/cmake/TT-NN)
configure_package_config_file(
  ${CMAKE_CURRENT_SOURCE_DIR}/cmake/tt-nn-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config.cmake
  INSTALL_DESTINATION ${_root}lib/cmake/TT-NN)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY AnyNewerVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config-version.cmake
  DESTINATION ${_root}lib/cmake/TT-NN)
if(SHIM_HAS_EXTENSION)
  install(TARGETS _core LIBRARY DESTINATION ${_root}_native)
endif()
