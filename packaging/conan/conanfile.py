# SPDX-License-Identifier: MIT
"""Conan 2 recipe: `conan create packaging/conan`, from a clone or a release archive. Without compression libraries, so
that the package needs no other; compressed debug information and cores are then not read."""
import os
import re

from conan import ConanFile
from conan.tools.files import copy, load, rmdir, rm
from conan.tools.gnu import Autotools, AutotoolsToolchain


class UnspoolConan(ConanFile):
    name = "unspool"
    license = "MIT"
    description = "Captures and symbolicates call stacks"
    topics = ("backtrace", "unwinding", "symbolication")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}
    languages = "C"

    @property
    def _top(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        text = load(self, os.path.join(self._top, "configure.ac"))
        self.version = re.search(r"^AC_INIT\(\[unspool\], \[([0-9.]+)\]", text, re.M)[1]

    def export_sources(self):
        # What a build leaves in the folder is not a source.
        copy(self, "*", self._top, self.export_sources_folder,
             excludes=(".git/*", ".build/*", "build/*", "autom4te.cache/*", "*.o", "*.lo", "*.la", "*.log"))

    def validate(self):
        if self.settings.os == "Windows":
            from conan.errors import ConanInvalidConfiguration
            raise ConanInvalidConfiguration("Linux and Apple systems only")

    def generate(self):
        toolchain = AutotoolsToolchain(self)
        for library in ("lzma", "zlib", "deflate", "zstd", "libarchive", "libdebuginfod"):
            toolchain.configure_args.append(f"--without-{library}")
        toolchain.generate()

    def build(self):
        autotools = Autotools(self)
        # A release archive has configure.
        if not os.path.exists(os.path.join(self.source_folder, "configure")):
            autotools.autoreconf()
        autotools.configure()
        autotools.make()

    def package(self):
        Autotools(self).install()
        copy(self, "COPYING", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan writes files for CMake and pkg-config itself.
        for folder in ("share", os.path.join("lib", "cmake"), os.path.join("lib", "pkgconfig")):
            rmdir(self, os.path.join(self.package_folder, folder))
        rm(self, "*.la", os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.libs = ["unspool"]
        if self.settings.os == "Linux":
            self.cpp_info.system_libs = ["pthread", "dl"]
