// y[i] = sin(x[i]) for i < n, without the library `core`, which rustc does not bring for this
// target: the traits below are what the compiler itself asks for. With `core` (component rust-src,
// cargo's build-std) the kernel is the same and the rest goes.
#![feature(no_core, lang_items, intrinsics, rustc_attrs, abi_ptx, link_llvm_intrinsics)]
#![allow(internal_features)]
#![no_core]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "legacy_receiver"]
pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}
#[lang = "copy"]
pub trait Copy: Sized {}
impl Copy for i32 {}
impl Copy for isize {}
impl Copy for f32 {}
impl<T> Copy for *const T {}
impl<T> Copy for *mut T {}

#[lang = "add"]
pub trait Add<Other> {
    type Output;
    fn add(self, other: Other) -> Self::Output;
}
impl Add<i32> for i32 {
    type Output = i32;
    fn add(self, other: i32) -> i32 {
        self + other
    }
}
#[lang = "mul"]
pub trait Mul<Other> {
    type Output;
    fn mul(self, other: Other) -> Self::Output;
}
impl Mul<i32> for i32 {
    type Output = i32;
    fn mul(self, other: i32) -> i32 {
        self * other
    }
}
#[lang = "partial_ord"]
pub trait PartialOrd<Other> {
    fn lt(&self, other: &Other) -> bool;
}
impl PartialOrd<i32> for i32 {
    fn lt(&self, other: &i32) -> bool {
        *self < *other
    }
}

#[rustc_intrinsic]
pub const unsafe fn arith_offset<T>(at: *const T, elements: isize) -> *const T;

extern "C" {
    fn __nv_sinf(x: f32) -> f32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    fn block() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    fn size() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    fn thread() -> i32;
}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn sines(x: *const f32, y: *mut f32, n: i32) {
    let i = block() * size() + thread();
    if i < n {
        let to = arith_offset(y as *const f32, i as isize) as *mut f32;
        *to = __nv_sinf(*arith_offset(x, i as isize));
    }
}
