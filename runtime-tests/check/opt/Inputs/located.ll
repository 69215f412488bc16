; ModuleID = 'located.c'
source_filename = "located.c"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.pair = type { float, float }

; Function Attrs: nounwind
define dso_local void @smooth(ptr noundef %0, ptr noundef %1, i32 noundef %2, float noundef %3) #0 !dbg !8 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca float, align 4
  %9 = alloca i32, align 4
  %10 = alloca float, align 4
  %11 = alloca %struct.pair, align 4
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  store ptr %0, ptr %5, align 8, !tbaa !11
  store ptr %1, ptr %6, align 8, !tbaa !11
  store i32 %2, ptr %7, align 4, !tbaa !15
  store float %3, ptr %8, align 4, !tbaa !17
  call void @llvm.lifetime.start.p0(i64 4, ptr %9) #3, !dbg !19
  %15 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !20
  %16 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !21
  %17 = mul nsw i32 %15, %16, !dbg !22
  %18 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !23
  %19 = add nsw i32 %17, %18, !dbg !24
  store i32 %19, ptr %9, align 4, !dbg !25, !tbaa !15
  call void @llvm.lifetime.start.p0(i64 4, ptr %10) #3, !dbg !26
  store float 0.000000e+00, ptr %10, align 4, !dbg !27, !tbaa !17
  call void @llvm.lifetime.start.p0(i64 8, ptr %11) #3, !dbg !28
  %20 = load i32, ptr %9, align 4, !dbg !29, !tbaa !15
  %21 = load i32, ptr %7, align 4, !dbg !30, !tbaa !15
  %22 = icmp sge i32 %20, %21, !dbg !31
  br i1 %22, label %23, label %24, !dbg !29

23:                                               ; preds = %4
  store i32 1, ptr %12, align 4
  br label %81, !dbg !32

24:                                               ; preds = %4
  call void @llvm.lifetime.start.p0(i64 4, ptr %13) #3, !dbg !33
  store i32 0, ptr %13, align 4, !dbg !34, !tbaa !15
  br label %25, !dbg !33

25:                                               ; preds = %61, %24
  %26 = load i32, ptr %13, align 4, !dbg !35, !tbaa !15
  %27 = icmp slt i32 %26, 4, !dbg !36
  br i1 %27, label %29, label %28, !dbg !37

28:                                               ; preds = %25
  store i32 2, ptr %12, align 4
  call void @llvm.lifetime.end.p0(i64 4, ptr %13) #3, !dbg !37
  br label %64

29:                                               ; preds = %25
  call void @llvm.lifetime.start.p0(i64 4, ptr %14) #3, !dbg !38
  %30 = load i32, ptr %9, align 4, !dbg !39, !tbaa !15
  %31 = load i32, ptr %13, align 4, !dbg !40, !tbaa !15
  %32 = add nsw i32 %30, %31, !dbg !41
  %33 = load i32, ptr %7, align 4, !dbg !42, !tbaa !15
  %34 = icmp slt i32 %32, %33, !dbg !43
  br i1 %34, label %35, label %39, !dbg !39

35:                                               ; preds = %29
  %36 = load i32, ptr %9, align 4, !dbg !44, !tbaa !15
  %37 = load i32, ptr %13, align 4, !dbg !45, !tbaa !15
  %38 = add nsw i32 %36, %37, !dbg !46
  br label %42, !dbg !39

39:                                               ; preds = %29
  %40 = load i32, ptr %7, align 4, !dbg !47, !tbaa !15
  %41 = sub nsw i32 %40, 1, !dbg !48
  br label %42, !dbg !39

42:                                               ; preds = %39, %35
  %43 = phi i32 [ %38, %35 ], [ %41, %39 ], !dbg !39
  store i32 %43, ptr %14, align 4, !dbg !49, !tbaa !15
  %44 = load ptr, ptr %6, align 8, !dbg !50, !tbaa !11
  %45 = load i32, ptr %14, align 4, !dbg !51, !tbaa !15
  %46 = sext i32 %45 to i64, !dbg !50
  %47 = getelementptr inbounds float, ptr %44, i64 %46, !dbg !50
  %48 = load float, ptr %47, align 4, !dbg !50, !tbaa !17
  %49 = getelementptr inbounds %struct.pair, ptr %11, i32 0, i32 0, !dbg !52
  store float %48, ptr %49, align 4, !dbg !53, !tbaa !54
  %50 = load ptr, ptr %6, align 8, !dbg !56, !tbaa !11
  %51 = load i32, ptr %9, align 4, !dbg !57, !tbaa !15
  %52 = sext i32 %51 to i64, !dbg !56
  %53 = getelementptr inbounds float, ptr %50, i64 %52, !dbg !56
  %54 = load float, ptr %53, align 4, !dbg !56, !tbaa !17
  %55 = load float, ptr %8, align 4, !dbg !58, !tbaa !17
  %56 = fmul float %54, %55, !dbg !59
  %57 = getelementptr inbounds %struct.pair, ptr %11, i32 0, i32 1, !dbg !60
  store float %56, ptr %57, align 4, !dbg !61, !tbaa !62
  %58 = call float @length(ptr noundef byval(%struct.pair) align 4 %11), !dbg !63
  %59 = load float, ptr %10, align 4, !dbg !64, !tbaa !17
  %60 = fadd float %59, %58, !dbg !64
  store float %60, ptr %10, align 4, !dbg !64, !tbaa !17
  call void @llvm.lifetime.end.p0(i64 4, ptr %14) #3, !dbg !65
  br label %61, !dbg !65

61:                                               ; preds = %42
  %62 = load i32, ptr %13, align 4, !dbg !66, !tbaa !15
  %63 = add nsw i32 %62, 1, !dbg !66
  store i32 %63, ptr %13, align 4, !dbg !66, !tbaa !15
  br label %25, !dbg !37, !llvm.loop !67

64:                                               ; preds = %28
  %65 = load i32, ptr %9, align 4, !dbg !70, !tbaa !15
  %66 = srem i32 %65, 3, !dbg !71
  switch i32 %66, label %73 [
    i32 0, label %67
    i32 1, label %70
  ], !dbg !72

67:                                               ; preds = %64
  %68 = load float, ptr %10, align 4, !dbg !73, !tbaa !17
  %69 = call float @clampf(float noundef %68, float noundef 0.000000e+00, float noundef 1.000000e+00), !dbg !74
  store float %69, ptr %10, align 4, !dbg !75, !tbaa !17
  br label %74, !dbg !76

70:                                               ; preds = %64
  %71 = load float, ptr %10, align 4, !dbg !77, !tbaa !17
  %72 = call float @clampf(float noundef %71, float noundef -1.000000e+00, float noundef 0.000000e+00), !dbg !78
  store float %72, ptr %10, align 4, !dbg !79, !tbaa !17
  br label %74, !dbg !80

73:                                               ; preds = %64
  br label %74, !dbg !81

74:                                               ; preds = %73, %70, %67
  %75 = load float, ptr %10, align 4, !dbg !82, !tbaa !17
  %76 = fdiv float %75, 4.000000e+00, !dbg !83
  %77 = load ptr, ptr %5, align 8, !dbg !84, !tbaa !11
  %78 = load i32, ptr %9, align 4, !dbg !85, !tbaa !15
  %79 = sext i32 %78 to i64, !dbg !84
  %80 = getelementptr inbounds float, ptr %77, i64 %79, !dbg !84
  store float %76, ptr %80, align 4, !dbg !86, !tbaa !17
  store i32 0, ptr %12, align 4, !dbg !87
  br label %81, !dbg !87

81:                                               ; preds = %74, %23
  call void @llvm.lifetime.end.p0(i64 8, ptr %11) #3, !dbg !87
  call void @llvm.lifetime.end.p0(i64 4, ptr %10) #3, !dbg !87
  call void @llvm.lifetime.end.p0(i64 4, ptr %9) #3, !dbg !87
  %82 = load i32, ptr %12, align 4
  switch i32 %82, label %84 [
    i32 0, label %83
    i32 1, label %83
  ]

83:                                               ; preds = %81, %81
  ret void, !dbg !87

84:                                               ; preds = %81
  unreachable
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: nounwind
define internal float @length(ptr noundef byval(%struct.pair) align 4 %0) #0 !dbg !88 {
  %2 = getelementptr inbounds %struct.pair, ptr %0, i32 0, i32 0, !dbg !89
  %3 = load float, ptr %2, align 4, !dbg !89, !tbaa !54
  %4 = getelementptr inbounds %struct.pair, ptr %0, i32 0, i32 0, !dbg !90
  %5 = load float, ptr %4, align 4, !dbg !90, !tbaa !54
  %6 = getelementptr inbounds %struct.pair, ptr %0, i32 0, i32 1, !dbg !91
  %7 = load float, ptr %6, align 4, !dbg !91, !tbaa !62
  %8 = getelementptr inbounds %struct.pair, ptr %0, i32 0, i32 1, !dbg !92
  %9 = load float, ptr %8, align 4, !dbg !92, !tbaa !62
  %10 = fmul float %7, %9, !dbg !93
  %11 = call float @llvm.fmuladd.f32(float %3, float %5, float %10), !dbg !94
  ret float %11, !dbg !95
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nounwind
define internal float @clampf(float noundef %0, float noundef %1, float noundef %2) #0 !dbg !96 {
  %4 = alloca float, align 4
  %5 = alloca float, align 4
  %6 = alloca float, align 4
  %7 = alloca float, align 4
  store float %0, ptr %5, align 4, !tbaa !17
  store float %1, ptr %6, align 4, !tbaa !17
  store float %2, ptr %7, align 4, !tbaa !17
  %8 = load float, ptr %5, align 4, !dbg !97, !tbaa !17
  %9 = load float, ptr %6, align 4, !dbg !98, !tbaa !17
  %10 = fcmp olt float %8, %9, !dbg !99
  br i1 %10, label %11, label %13, !dbg !97

11:                                               ; preds = %3
  %12 = load float, ptr %6, align 4, !dbg !100, !tbaa !17
  store float %12, ptr %4, align 4, !dbg !101
  br label %21, !dbg !101

13:                                               ; preds = %3
  %14 = load float, ptr %5, align 4, !dbg !102, !tbaa !17
  %15 = load float, ptr %7, align 4, !dbg !103, !tbaa !17
  %16 = fcmp ogt float %14, %15, !dbg !104
  br i1 %16, label %17, label %19, !dbg !102

17:                                               ; preds = %13
  %18 = load float, ptr %7, align 4, !dbg !105, !tbaa !17
  store float %18, ptr %4, align 4, !dbg !106
  br label %21, !dbg !106

19:                                               ; preds = %13
  %20 = load float, ptr %5, align 4, !dbg !107, !tbaa !17
  store float %20, ptr %4, align 4, !dbg !108
  br label %21, !dbg !108

21:                                               ; preds = %19, %17, %11
  %22 = load float, ptr %4, align 4, !dbg !109
  ret float %22, !dbg !109
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #2

attributes #0 = { nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx85,+sm_90" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nounwind }

!llvm.dbg.cu = !{!0}
!nvvm.annotations = !{!2}
!llvm.module.flags = !{!3, !4, !5, !6}

!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "clang", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "located.c", directory: "/src")
!2 = !{ptr @smooth, !"kernel", i32 1}
!3 = !{i32 7, !"Dwarf Version", i32 2}
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !{i32 1, !"wchar_size", i32 4}
!6 = !{i32 7, !"frame-pointer", i32 2}
!8 = distinct !DISubprogram(name: "smooth", scope: !1, file: !1, line: 8, type: !9, scopeLine: 8, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!9 = !DISubroutineType(types: !10)
!10 = !{}
!11 = !{!12, !12, i64 0}
!12 = !{!"any pointer", !13, i64 0}
!13 = !{!"omnipotent char", !14, i64 0}
!14 = !{!"Simple C/C++ TBAA"}
!15 = !{!16, !16, i64 0}
!16 = !{!"int", !13, i64 0}
!17 = !{!18, !18, i64 0}
!18 = !{!"float", !13, i64 0}
!19 = !DILocation(line: 9, column: 3, scope: !8)
!20 = !DILocation(line: 9, column: 11, scope: !8)
!21 = !DILocation(line: 9, column: 44, scope: !8)
!22 = !DILocation(line: 9, column: 42, scope: !8)
!23 = !DILocation(line: 9, column: 76, scope: !8)
!24 = !DILocation(line: 9, column: 74, scope: !8)
!25 = !DILocation(line: 9, column: 7, scope: !8)
!26 = !DILocation(line: 10, column: 3, scope: !8)
!27 = !DILocation(line: 10, column: 9, scope: !8)
!28 = !DILocation(line: 11, column: 3, scope: !8)
!29 = !DILocation(line: 12, column: 7, scope: !8)
!30 = !DILocation(line: 12, column: 12, scope: !8)
!31 = !DILocation(line: 12, column: 9, scope: !8)
!32 = !DILocation(line: 12, column: 15, scope: !8)
!33 = !DILocation(line: 13, column: 8, scope: !8)
!34 = !DILocation(line: 13, column: 12, scope: !8)
!35 = !DILocation(line: 13, column: 19, scope: !8)
!36 = !DILocation(line: 13, column: 21, scope: !8)
!37 = !DILocation(line: 13, column: 3, scope: !8)
!38 = !DILocation(line: 14, column: 5, scope: !8)
!39 = !DILocation(line: 14, column: 14, scope: !8)
!40 = !DILocation(line: 14, column: 18, scope: !8)
!41 = !DILocation(line: 14, column: 16, scope: !8)
!42 = !DILocation(line: 14, column: 22, scope: !8)
!43 = !DILocation(line: 14, column: 20, scope: !8)
!44 = !DILocation(line: 14, column: 26, scope: !8)
!45 = !DILocation(line: 14, column: 30, scope: !8)
!46 = !DILocation(line: 14, column: 28, scope: !8)
!47 = !DILocation(line: 14, column: 34, scope: !8)
!48 = !DILocation(line: 14, column: 36, scope: !8)
!49 = !DILocation(line: 14, column: 9, scope: !8)
!50 = !DILocation(line: 15, column: 11, scope: !8)
!51 = !DILocation(line: 15, column: 14, scope: !8)
!52 = !DILocation(line: 15, column: 7, scope: !8)
!53 = !DILocation(line: 15, column: 9, scope: !8)
!54 = !{!55, !18, i64 0}
!55 = !{!"pair", !18, i64 0, !18, i64 4}
!56 = !DILocation(line: 16, column: 11, scope: !8)
!57 = !DILocation(line: 16, column: 14, scope: !8)
!58 = !DILocation(line: 16, column: 19, scope: !8)
!59 = !DILocation(line: 16, column: 17, scope: !8)
!60 = !DILocation(line: 16, column: 7, scope: !8)
!61 = !DILocation(line: 16, column: 9, scope: !8)
!62 = !{!55, !18, i64 4}
!63 = !DILocation(line: 17, column: 12, scope: !8)
!64 = !DILocation(line: 17, column: 9, scope: !8)
!65 = !DILocation(line: 18, column: 3, scope: !8)
!66 = !DILocation(line: 13, column: 27, scope: !8)
!67 = distinct !{!67, !37, !65, !68, !69}
!68 = !{!"llvm.loop.mustprogress"}
!69 = !{!"llvm.loop.unroll.disable"}
!70 = !DILocation(line: 19, column: 11, scope: !8)
!71 = !DILocation(line: 19, column: 13, scope: !8)
!72 = !DILocation(line: 19, column: 3, scope: !8)
!73 = !DILocation(line: 20, column: 24, scope: !8)
!74 = !DILocation(line: 20, column: 17, scope: !8)
!75 = !DILocation(line: 20, column: 15, scope: !8)
!76 = !DILocation(line: 20, column: 36, scope: !8)
!77 = !DILocation(line: 21, column: 24, scope: !8)
!78 = !DILocation(line: 21, column: 17, scope: !8)
!79 = !DILocation(line: 21, column: 15, scope: !8)
!80 = !DILocation(line: 21, column: 37, scope: !8)
!81 = !DILocation(line: 22, column: 12, scope: !8)
!82 = !DILocation(line: 24, column: 12, scope: !8)
!83 = !DILocation(line: 24, column: 16, scope: !8)
!84 = !DILocation(line: 24, column: 3, scope: !8)
!85 = !DILocation(line: 24, column: 7, scope: !8)
!86 = !DILocation(line: 24, column: 10, scope: !8)
!87 = !DILocation(line: 25, column: 1, scope: !8)
!88 = distinct !DISubprogram(name: "length", scope: !1, file: !1, line: 2, type: !9, scopeLine: 2, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!89 = !DILocation(line: 2, column: 47, scope: !88)
!90 = !DILocation(line: 2, column: 53, scope: !88)
!91 = !DILocation(line: 2, column: 59, scope: !88)
!92 = !DILocation(line: 2, column: 65, scope: !88)
!93 = !DILocation(line: 2, column: 61, scope: !88)
!94 = !DILocation(line: 2, column: 55, scope: !88)
!95 = !DILocation(line: 2, column: 38, scope: !88)
!96 = distinct !DISubprogram(name: "clampf", scope: !1, file: !1, line: 3, type: !9, scopeLine: 3, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!97 = !DILocation(line: 4, column: 7, scope: !96)
!98 = !DILocation(line: 4, column: 11, scope: !96)
!99 = !DILocation(line: 4, column: 9, scope: !96)
!100 = !DILocation(line: 4, column: 23, scope: !96)
!101 = !DILocation(line: 4, column: 16, scope: !96)
!102 = !DILocation(line: 5, column: 7, scope: !96)
!103 = !DILocation(line: 5, column: 11, scope: !96)
!104 = !DILocation(line: 5, column: 9, scope: !96)
!105 = !DILocation(line: 5, column: 24, scope: !96)
!106 = !DILocation(line: 5, column: 17, scope: !96)
!107 = !DILocation(line: 6, column: 10, scope: !96)
!108 = !DILocation(line: 6, column: 3, scope: !96)
!109 = !DILocation(line: 7, column: 1, scope: !96)
