"""nvmini_ptx(name, src, cpu, options, libraries): compiles a module to NAME.ptx.

Bazel's key of the action contains the compiler's bytes, the options and the inputs. As the output
depends on nothing else (docs/caching.md), disk and remote caches are safe."""

def _nvmini_ptx(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".ptx")
    arguments = ctx.actions.args()
    arguments.add("compile")
    arguments.add(ctx.file.src)
    arguments.add("--cpu", ctx.attr.cpu)
    arguments.add_all(ctx.attr.options)
    arguments.add_all(ctx.files.libraries, before_each = "--link")
    arguments.add("-o", output)
    ctx.actions.run(
        executable = ctx.file._nvmini,
        arguments = [arguments],
        inputs = [ctx.file.src] + ctx.files.libraries,
        outputs = [output],
        mnemonic = "NvminiPtx",
    )
    return [DefaultInfo(files = depset([output]))]

nvmini_ptx = rule(
    implementation = _nvmini_ptx,
    attrs = {
        "src": attr.label(allow_single_file = [".nvir", ".ll", ".bc"], mandatory = True),
        "cpu": attr.string(mandatory = True),
        "options": attr.string_list(),
        "libraries": attr.label_list(allow_files = [".nvir", ".ll", ".bc"]),
        "_nvmini": attr.label(default = "@nvmini//:nvmini", allow_single_file = True),
    },
)
