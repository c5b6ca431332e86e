# Packs a build tree as Debian packages: `cpack --config build/<preset>/CPackConfig.cmake -B DIR`
# makes them in a few seconds. They are graphd (the daemon and its unit), graphctl, libgraphclient0 (the
# library that trainers link), libgraphclient-dev (its headers) and python3-graphd.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL lib dev graphd graphctl)
set(CPACK_PACKAGE_CONTACT "graphd developers <graphd@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Directories get the usual permissions, independent of the umask.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(debian ${PROJECT_SOURCE_DIR}/packaging/debian)

# Debian requires a copyright file and a changelog in every package, and has release notes in NEWS.gz
# (Debian Policy, 12.7): that is CHANGELOG.md, while changelog.gz has Debian's format. They are installed
# to share/doc/<package>, so each component has its own.
set(package_files ${PROJECT_BINARY_DIR}/packaging)
configure_file(${debian}/changelog.in ${package_files}/changelog @ONLY)
configure_file(CHANGELOG.md ${package_files}/NEWS COPYONLY)
execute_process(COMMAND ${GZIP_PROGRAM} -9n -k -f ${package_files}/changelog ${package_files}/NEWS
  COMMAND_ERROR_IS_FATAL ANY)
function(graphd_package_documents component package)
  install(FILES ${debian}/copyright ${package_files}/changelog.gz ${package_files}/NEWS.gz
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
  install(FILES ${debian}/lintian-overrides RENAME ${package}
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides COMPONENT ${component})
endfunction()

set(CPACK_COMPONENT_LIB_DESCRIPTION
"client library of graphd, for trainers of graph neural networks
graphd keeps partitioned graphs in memory on one machine or on several, and
training jobs attach to it. This package has the library that trainers link:
distributed graphs, tensors and embeddings, neighbour sampling, data loaders.")
set(CPACK_DEBIAN_LIB_PACKAGE_NAME libgraphclient${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
# Encrypts faster than OpenSSL on processors with vector AES; it is loaded if it is there.
set(accelerator "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(accelerator "libipsec-mb1")
  set(CPACK_DEBIAN_LIB_PACKAGE_RECOMMENDS "${accelerator}")
endif()
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${debian}/libgraphclient0/triggers)
graphd_package_documents(lib libgraphclient${PROJECT_VERSION_MAJOR})

set(CPACK_COMPONENT_DEV_DESCRIPTION
"headers of graphd's client library
What a trainer in C++ is compiled with: the public headers of libgraphclient,
find_package(graphd CONFIG) for CMake, graphd.pc for pkg-config, and manuals.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libgraphclient-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libgraphclient${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
graphd_package_documents(dev libgraphclient-dev)

set(CPACK_COMPONENT_GRAPHD_DESCRIPTION
"persistent graph server for distributed GNN training
graphd keeps this machine's partition of a graph in memory and learnable
embeddings on disk, and serves trainers. One daemon per machine and server
name, run by systemd (graphd@NAME.service) or by graphctl launch.")
set(CPACK_DEBIAN_GRAPHD_PACKAGE_NAME graphd)
set(CPACK_DEBIAN_GRAPHD_PACKAGE_RECOMMENDS "systemd")
if(accelerator)
  string(APPEND CPACK_DEBIAN_GRAPHD_PACKAGE_RECOMMENDS ", ${accelerator}")
endif()
set(CPACK_DEBIAN_GRAPHD_PACKAGE_SUGGESTS "graphctl, prometheus")
set(CPACK_DEBIAN_GRAPHD_PACKAGE_DEPENDS "debconf (>= 0.5) | debconf-2.0")
set(CPACK_DEBIAN_GRAPHD_PACKAGE_CONTROL_EXTRA
    ${debian}/graphd/postinst ${debian}/graphd/prerm ${debian}/graphd/postrm ${debian}/graphd/templates)
set(CPACK_DEBIAN_GRAPHD_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
graphd_package_documents(graphd graphd)

set(CPACK_COMPONENT_GRAPHCTL_DESCRIPTION
"partition graphs, copy them, and run training jobs on graphd
graphctl cuts a graph into partitions, copies them to the machines that serve
them, starts servers and jobs over ssh, and shows and ends what runs.")
set(CPACK_DEBIAN_GRAPHCTL_PACKAGE_NAME graphctl)
set(CPACK_DEBIAN_GRAPHCTL_PACKAGE_RECOMMENDS "graphd, openssh-client")
# Before 0.2, graphctl was in the package graphd.
set(CPACK_DEBIAN_GRAPHCTL_PACKAGE_BREAKS "graphd (<< 0.2)")
set(CPACK_DEBIAN_GRAPHCTL_PACKAGE_REPLACES "graphd (<< 0.2)")
graphd_package_documents(graphctl graphctl)

if(TARGET graphd_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"distributed graphs for training graph neural networks
The Python package graphd: distributed graphs, tensors, embeddings, sampling
and data loaders under the names of dgl.distributed, for PyTorch and NumPy.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-graphd)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${GRAPHD_PYTHON_DEPENDS}, python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
      ${debian}/python3-graphd/postinst ${debian}/python3-graphd/prerm)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "graphd, python3-torch, python3-matplotlib, python3-tqdm")
  graphd_package_documents(python python3-graphd)
  # The tutorial, the pages and examples to which it refers, in the same places relative to it, and the
  # notebook. Pages that only the site or a checkout can show are left out.
  set(python_documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/python3-graphd)
  file(GLOB python_examples CONFIGURE_DEPENDS examples/*.py)
  install(FILES ${python_examples} DESTINATION ${python_documents}/examples COMPONENT python)
  install(DIRECTORY docs DESTINATION ${python_documents} COMPONENT python
    FILES_MATCHING PATTERN "*.md" PATTERN "*.ipynb"
    PATTERN _static EXCLUDE PATTERN reference EXCLUDE PATTERN site EXCLUDE PATTERN index.md EXCLUDE
    PATTERN getting-started.md EXCLUDE)
endif()
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/drop_ldconfig.cmake)
include(CPack)
