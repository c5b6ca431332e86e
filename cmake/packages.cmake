# Debian packages of what a build tree has: `cpack --config build/<preset>/CPackConfig.cmake -B DIR`
# makes graphd_*.deb (the daemon, graphctl, manuals, units) and python3-graphd_*.deb in a few seconds.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL graphd)
set(CPACK_PACKAGE_CONTACT "graphd developers <graphd@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_GRAPHD_PACKAGE_NAME graphd)
set(CPACK_COMPONENT_GRAPHD_DESCRIPTION "Persistent graph servers for distributed GNN training")
set(CPACK_DEBIAN_GRAPHD_PACKAGE_RECOMMENDS "openssh-client, systemd")
set(CPACK_DEBIAN_GRAPHD_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/graphd/postinst)

if(TARGET graphd_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-graphd)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${GRAPHD_PYTHON_DEPENDS}, python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
      ${PROJECT_SOURCE_DIR}/packaging/debian/python3-graphd/postinst
      ${PROJECT_SOURCE_DIR}/packaging/debian/python3-graphd/prerm)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "graphd, python3-torch")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION
      "Distributed graphs for training graph neural networks, under DGL's names")
endif()
include(CPack)
