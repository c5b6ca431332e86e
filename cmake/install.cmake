# What `cmake --install` puts where. Components are what packages are made of (cmake/packages.cmake):
# "graphd" here, "python" in python/CMakeLists.txt; "examples" is in none.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME graphd)
install(TARGETS graphd graphctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET train_sage)
  install(TARGETS train_sage RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT examples)
endif()

file(GLOB pages CONFIGURE_DEPENDS man/*.[1-8])
foreach(page IN LISTS pages)
  string(REGEX MATCH "[1-8]$" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES conf/graphd.conf.example DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# systemd looks below /usr/lib or /lib only, on 64-bit machines too.
install(FILES packaging/systemd/graphd@.service DESTINATION lib/systemd/system)
install(FILES packaging/systemd/graphd.sysusers DESTINATION lib/sysusers.d RENAME graphd.conf)
install(FILES packaging/systemd/graphd.tmpfiles DESTINATION lib/tmpfiles.d RENAME graphd.conf)
