/* The first instructions: from where QEMU's -kernel leaves the CPU (32-bit
 * protected mode without paging, by Xen's PVH boot protocol) to C in 64-bit
 * mode, with the first 4 GiB of memory mapped one to one.
 *
 * Sources: Xen's docs/misc/pvh.pandoc for the entry; Intel's SDM volume 3A,
 * 10.8.5 "Initializing IA-32e Mode", for the way to 64 bits.
 */

#define CR0_PG (1 << 31)
#define CR4_PAE (1 << 5)
#define MSR_EFER 0xc0000080
#define EFER_LME (1 << 8)

#define PAGE_PRESENT 0x1
#define PAGE_WRITE 0x2
#define PAGE_2M 0x80

#define XEN_ELFNOTE_PHYS32_ENTRY 18

	/* QEMU finds the entry point by this note. */
	.section .note.pvh, "a", @note
	.align 4
	.long 4              /* of the name */
	.long 4              /* of the value */
	.long XEN_ELFNOTE_PHYS32_ENTRY
	.asciz "Xen"
	.long start32

	.section .text.start, "ax"
	.code32
	.globl start32
start32:
	cld
	cli
	movl $stack_top, %esp
	movl %ebx, %edi      /* the hvm_start_info, main's first argument */

	/* Page tables: 2048 pages of 2 MiB. */
	movl $page_directories, %eax
	movl $(PAGE_PRESENT | PAGE_WRITE | PAGE_2M), %edx
	movl $2048, %ecx
1:	movl %edx, (%eax)
	movl $0, 4(%eax)
	addl $0x200000, %edx
	addl $8, %eax
	loop 1b
	movl $(page_directories + PAGE_PRESENT + PAGE_WRITE), %edx
	movl $pdpt, %eax
	movl $4, %ecx
2:	movl %edx, (%eax)
	addl $0x1000, %edx
	addl $8, %eax
	loop 2b
	movl $(pdpt + PAGE_PRESENT + PAGE_WRITE), pml4

	movl %cr4, %eax
	orl $CR4_PAE, %eax
	movl %eax, %cr4
	movl $pml4, %eax
	movl %eax, %cr3
	movl $MSR_EFER, %ecx
	rdmsr
	orl $EFER_LME, %eax
	wrmsr
	movl %cr0, %eax
	orl $CR0_PG, %eax
	movl %eax, %cr0
	lgdt gdt_pointer
	ljmp $0x8, $start64

	.code64
start64:
	movl $0x10, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	xorl %eax, %eax
	movl %eax, %fs
	movl %eax, %gs
	movl %edi, %edi      /* the upper half is undefined after the switch */
	movq $stack_top, %rsp
	call main
3:	hlt
	jmp 3b

	.section .rodata
	.align 8
gdt:
	.quad 0
	.quad 0x00209a0000000000 /* 0x08: code, 64 bits */
	.quad 0x0000920000000000 /* 0x10: data */
gdt_pointer:
	.word . - gdt - 1
	.long gdt

	.section .bss
	.align 4096
pml4:
	.skip 4096
pdpt:
	.skip 4096
page_directories:
	.skip 4 * 4096
	.skip 16384
stack_top:

	.section .note.GNU-stack, "", @progbits
