// y[i] = sin(x[i]) for i < n.
extern fn __nv_sinf(x: f32) callconv(.c) f32;

fn sines(x: [*]addrspace(.global) const f32, y: [*]addrspace(.global) f32, n: i32) callconv(.nvptx_kernel) void {
    const i = @workGroupId(0) * @workGroupSize(0) + @workItemId(0);
    if (@as(i32, @intCast(i)) < n) y[i] = __nv_sinf(x[i]);
}

comptime {
    @export(&sines, .{ .name = "sines" });
}
