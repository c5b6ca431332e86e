# Rules of `cmake --install`. Each component becomes a package (cmake/packages.cmake): "lib" and
# "dev" for libgraphclient, "graphd", "graphctl", and "python", which python/CMakeLists.txt installs.
# The component "examples" is in no package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# libgraphclient: the library, its headers, find_package(graphd CONFIG) and pkg-config.
install(TARGETS graphclient EXPORT graphd
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY libclient/include/graphd DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/graphd)
install(EXPORT graphd NAMESPACE graphd:: FILE graphdTargets.cmake
  DESTINATION ${config_dir} COMPONENT dev)
configure_package_config_file(cmake/graphdConfig.cmake.in
  ${PROJECT_BINARY_DIR}/graphdConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/graphdConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/graphdConfig.cmake
              ${PROJECT_BINARY_DIR}/graphdConfigVersion.cmake
  DESTINATION ${config_dir} COMPONENT dev)
# On Debian, pkg-config reads the folder of the architecture also when it compiles for another one.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(CMAKE_INSTALL_LIBDIR STREQUAL lib AND CMAKE_LIBRARY_ARCHITECTURE)
  set(pkgconfig_dir lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig)
endif()
# The prefix is relative to the installed file, so that `cmake --install --prefix` works.
file(RELATIVE_PATH GRAPHD_PC_TO_PREFIX /prefix/${pkgconfig_dir} /prefix)
configure_file(cmake/graphd.pc.in ${PROJECT_BINARY_DIR}/graphd.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/graphd.pc DESTINATION ${pkgconfig_dir} COMPONENT dev)

# install_pages(component pattern...): installs manual pages, compressed as Debian requires. A page that has
# several names gets links, so that man finds it by each.
find_program(GZIP_PROGRAM gzip REQUIRED)
function(install_pages component)
  foreach(pattern IN LISTS ARGN)
    file(GLOB pages CONFIGURE_DEPENDS man/${pattern})
    foreach(page IN LISTS pages)
      cmake_path(GET page FILENAME name)
      string(REGEX MATCH "[1-8]$" section ${page})
      configure_file(${page} ${PROJECT_BINARY_DIR}/man/${name} COPYONLY)
      execute_process(COMMAND ${GZIP_PROGRAM} -9nkf ${PROJECT_BINARY_DIR}/man/${name}
        COMMAND_ERROR_IS_FATAL ANY)
      set(installed ${PROJECT_BINARY_DIR}/man/${name}.gz)
      file(READ ${page} text)
      string(REGEX MATCH "\n\\.Sh NAME\n(.*)\n\\.Nd " names "${text}")
      string(REGEX MATCHALL "[^ \n]*[a-z]" names "${CMAKE_MATCH_1}")
      foreach(other IN LISTS names)
        if(NOT other STREQUAL ".Nm" AND NOT "${other}.${section}" STREQUAL name)
          set(link ${PROJECT_BINARY_DIR}/man/${other}.${section}.gz)
          file(CREATE_LINK ${name}.gz ${link} SYMBOLIC)
          list(APPEND installed ${link})
        endif()
      endforeach()
      install(FILES ${installed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
    endforeach()
  endforeach()
endfunction()
install_pages(dev libgraphclient*.3)

if(GRAPHD_BUILD_PROGRAMS)
  install(TARGETS graphd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT graphd)
  install(TARGETS graphctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT graphctl)
  install_pages(graphd *.[58])
  install_pages(graphctl graphctl*.1)
  install(FILES conf/graphd.conf.example DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
    COMPONENT graphd)
  install(FILES packaging/prometheus/graphd.rules.yml packaging/prometheus/graphd.scrape.yml
    DESTINATION ${CMAKE_INSTALL_DATADIR}/graphd/prometheus COMPONENT graphd)
  install(FILES packaging/grafana/graphd.json
    DESTINATION ${CMAKE_INSTALL_DATADIR}/graphd/grafana COMPONENT graphd)
  foreach(program graphd graphctl)
    install(FILES packaging/completions/${program}.bash
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program}
      COMPONENT ${program})
    install(FILES packaging/completions/_${program}
      DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT ${program})
  endforeach()
  # systemd searches only /usr/lib and /lib, not the library directory of the architecture.
  install(FILES packaging/systemd/graphd@.service packaging/systemd/graphd@.socket
      packaging/systemd/run-graphd_memory.mount
    DESTINATION lib/systemd/system COMPONENT graphd)
  install(FILES packaging/systemd/graphd.sysusers DESTINATION lib/sysusers.d RENAME graphd.conf
    COMPONENT graphd)
  install(FILES packaging/systemd/graphd.tmpfiles DESTINATION lib/tmpfiles.d RENAME graphd.conf
    COMPONENT graphd)
endif()
if(TARGET train_sage)
  set_target_properties(train_sage PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  install(TARGETS train_sage RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT examples)
endif()
