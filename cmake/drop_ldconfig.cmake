# Run by cpack when it has made the Debian packages. CPack gives each package with a library a postinst and
# a postrm that call ldconfig, and has no option against it; dpkg does that once for all packages, by the
# trigger that the package activates (packaging/debian/libgraphclient0/triggers).
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  if(NOT package MATCHES "/libgraphclient[0-9]+_[^/]*[.]deb$")
    continue()
  endif()
  set(unpacked ${package}.unpacked)
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${unpacked} COMMAND_ERROR_IS_FATAL ANY)
  foreach(script postinst postrm)
    file(READ ${unpacked}/DEBIAN/${script} text)
    string(REGEX REPLACE "[ \t\n]+" " " text "${text}")
    if(NOT text MATCHES "^#!/bin/sh set -e if .* then ldconfig fi $")
      message(FATAL_ERROR "${script} of ${package} does more than calling ldconfig: ${text}")
    endif()
    file(REMOVE ${unpacked}/DEBIAN/${script})
  endforeach()
  execute_process(COMMAND dpkg-deb --root-owner-group -Zgzip --build ${unpacked} ${package}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${unpacked})
endforeach()
