# SPDX-License-Identifier: MIT
# Writes the declarations of the crate unspool-sys from the public headers.
#   perl bindings/rust/declarations.pl HEADER... >bindings/rust/unspool-sys/src/declarations.rs
# tests/source/check-rust.sh compares the file with the headers. The crate's own tests compile the declarations as C.
use strict;
use warnings;

my %scalar = (
    'char' => 'c_char', 'int' => 'c_int', 'unsigned' => 'c_uint', 'bool' => 'bool', 'void' => 'c_void',
    'size_t' => 'usize', 'uintptr_t' => 'usize', 'usp_addr' => 'usp_addr',
    map { ("int${_}_t" => "i$_", "uint${_}_t" => "u$_") } 8, 16, 32, 64
);
my %is_reserved = map { $_ => 1 } qw(async as await box dyn fn impl in let loop match mod move pub ref trait try type use where yield);
my (@constants, @opaque, @structs, @types, @functions, %defined);

sub name { return $is_reserved{$_[0]} ? "r#$_[0]" : $_[0] }

# Returns the type of one declarator: its name and type. `base` is the text before the pointers.
sub declarator {
    my ($base, $text) = @_;
    if ($text =~ /^\(\*(\w*)\)\s*\((.*)\)$/s) { return (name($1), function_type($base, $2)) }
    my ($pointers, $name, $arrays) = $text =~ /^((?:\*\s*(?:const\b\s*)?)*)(\w*)((?:\[\w+\])*)$/ or die "which declarator is $base $text?\n";
    my $is_const = $base =~ s/^const\s+//;
    $base =~ s/^(?:struct|enum)\s+//;
    my $type = $scalar{$base} // ($base =~ /^usp_\w+$/ ? $base : die "which type is $base?\n");
    while ($pointers =~ /\*\s*(const)?/g) {
        $type = ($is_const ? '*const ' : '*mut ') . $type;
        $is_const = defined $1;
    }
    $type = "[$type; $_]" for map { /^\d+$/ ? $_ : "$_ as usize" } reverse $arrays =~ /\[(\w+)\]/g;
    return (name($name), $type);
}

# Splits a declaration into the type that all its declarators share, and the rest.
sub base_of {
    my ($text) = @_;
    my @parts = $text =~ /^((?:const\s+)?(?:(?:struct|enum)\s+)?\w+)\s*(.*)$/s;
    return @parts ? @parts : die "what is declared by $text?\n";
}

sub parameters {
    my ($text) = @_;
    return '' if $text =~ /^\s*void\s*$/;
    my ($depth, @parameters) = (0, '');
    for my $c (split //, $text) {
        $depth += ($c eq '(') - ($c eq ')');
        if ($c eq ',' && $depth == 0) { push @parameters, '' } else { $parameters[-1] .= $c }
    }
    return join ', ', map {
        my ($name, $type) = declarator(base_of(s/^\s+|\s+$//gr));
        # C passes a pointer, Rust would pass the elements.
        die "$name is an array: declare the pointer\n" if $type =~ /^\[/;
        "$name: $type"
    } @parameters;
}

sub result {
    my ($base, $pointers) = @_;
    my (undef, $type) = declarator($base, $pointers);
    return $type eq 'c_void' ? '' : " -> $type";
}

sub function_type {
    my ($base, $parameters) = @_;
    return 'Option<unsafe extern "C" fn(' . parameters($parameters) . ')' . result($base, '') . '>';
}

sub read_enum {
    my ($name, $body) = @_;
    my $type = $name eq 'usp_status' ? 'c_int' : 'u32';
    my $next = '0';
    for my $value (grep { /\w/ } split /,/, $body) {
        my ($constant, $number) = $value =~ /^\s*(\w+)\s*(?:=\s*(.*?))?\s*$/s or die "which value is $value?\n";
        $number //= $next;
        push @constants, "pub const $constant: $type = $number;\n";
        $next = "$constant + 1";
    }
}

sub read_struct {
    my ($name, $body) = @_;
    my $out = "    pub struct $name {\n";
    for my $field (map { s/^\s+|\s+$//gr =~ s/\s+/ /gr } grep { /\w/ } split /;/, $body) {
        my ($base, $rest) = base_of($field);
        for my $one ($rest =~ /^\(/ ? $rest : split /\s*,\s*/, $rest) {
            my ($member, $type) = declarator($base, $one);
            $out .= "        pub $member: $type,\n";
        }
    }
    $defined{$name} = 1;
    push @structs, "$out    }\n";
}

for my $path (@ARGV) {
    open my $file, '<', $path or die "$path: $!\n";
    my $text = do { local $/; <$file> };
    $text =~ s{/\*.*?\*/}{ }gs;
    while ($text =~ /^#define (USP_\w+) +(\d+|UINT32_MAX)\s*$/mg) {
        my ($constant, $value) = ($1, $2 eq 'UINT32_MAX' ? 'u32::MAX' : $2);
        push @constants, "pub const $constant: u32 = $value;\n";
    }
    my ($body) = $text =~ /^USP_BEGIN_DECLS$(.*)^USP_END_DECLS$/ms or next;
    $body =~ s/^\s*#.*$//mg;
    while ($body =~ /\S/) {
        if ($body =~ s/^\s*enum (\w+)\s*\{([^}]*)\}\s*;//s) {
            read_enum($1, $2);
        } elsif ($body =~ s/^\s*struct (\w+)\s*\{([^}]*)\}\s*;//s) {
            read_struct($1, $2);
        } elsif ($body =~ s/^\s*struct (\w+)\s*;//s) {
            push @opaque, $1;
        } elsif ($body =~ s/^\s*typedef (\w+) \(\*(\w+)\)\(([^;]*)\)\s*;//s) {
            push @types, "pub type $2 = " . function_type($1, $3) . ";\n";
        } elsif ($body =~ s/^\s*typedef uint64_t usp_addr\s*;//s) {
            push @types, "pub type usp_addr = u64;\n";
        } elsif ($body =~ s/^\s*USP_API ((?:const )?(?:struct )?\w+) ?(\**)(usp_\w+)\(([^;]*)\)\s*;//s) {
            my ($base, $pointers, $name, $parameters) = ($1, $2, $3, $4);
            $parameters =~ s/\s+/ /g;
            push @functions, "    pub fn $name(" . parameters($parameters) . ')' . result($base, $pointers) . ";\n";
        } else {
            die "$path: what is " . substr($body =~ s/^\s+//r, 0, 80) . "?\n";
        }
    }
}

print <<'END';
// SPDX-License-Identifier: MIT
// Written from the public headers by bindings/rust/declarations.pl. The headers have the contracts.

END
print sort(@types), "\n", @constants, "\n";
my %seen;
print "opaque! {\n", (map { "    $_\n" } grep { !$defined{$_} && !$seen{$_}++ } sort @opaque), "}\n\n";
print "structs! {\n", join("\n", @structs), "}\n\n", "extern \"C\" {\n", sort(@functions), "}\n";
