# Installed below one prefix (inside a wheel: the package folder ttnn_shim/): lib/, include/, lib/cmake/TT-NN/, _native/.
include(CMakePackageConfigHelpers)
install(TARGETS ttnn_shim EXPORT TT-NN LIBRARY DESTINATION ${SHIM_ROOT}lib)
if(SHIM_DNNL_LIBRARY)
  get_filename_component(_dnnl_file ${SHIM_DNNL_LIBRARY} REALPATH)
  install(FILES ${_dnnl_file} DESTINATION ${SHIM_ROOT}lib RENAME libdnnl.so.3)
endif()
# Licence texts travel with what they are about: wheels and standalone exports hold oneDNN's library.
set(_project ${CMAKE_CURRENT_SOURCE_DIR}/..)
install(FILES ${_project}/LICENSE ${_project}/THIRD-PARTY-NOTICES.md DESTINATION ${SHIM_ROOT}licenses)
if(SHIM_DNNL_LIBRARY)
  install(DIRECTORY ${_project}/licenses/onednn DESTINATION ${SHIM_ROOT}licenses)
endif()
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ DESTINATION ${SHIM_ROOT}include FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT TT-NN NAMESPACE TTNN:: FILE TT-NN-targets.cmake DESTINATION ${SHIM_ROOT}lib/cmake/TT-NN)
configure_package_config_file(
  ${CMAKE_CURRENT_SOURCE_DIR}/cmake/tt-nn-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config.cmake
  INSTALL_DESTINATION ${SHIM_ROOT}lib/cmake/TT-NN)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY AnyNewerVersion)
# `./run --device` wants a card: find_package passes over this one and goes on to the next place.
file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config-version.cmake
  "\nif(TTNN_REQUIRE_CARD)\n  set(PACKAGE_VERSION_UNSUITABLE TRUE)\nendif()\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tt-nn-config-version.cmake
  DESTINATION ${SHIM_ROOT}lib/cmake/TT-NN)
if(SHIM_HAS_EXTENSION)
  install(TARGETS _core LIBRARY DESTINATION ${SHIM_ROOT}_native)
endif()
