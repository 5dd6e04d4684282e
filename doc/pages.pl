# SPDX-License-Identifier: MIT
# Writes the section-3 manual pages, and the table of where functions may be called, from the public headers.
#   perl doc/pages.pl VERSION FOLDER EXAMPLES HEADER...
# FOLDER receives
#   - a page for each contract in a header: a comment and the declarations below it. The functions' other names are
#     files of one line that refer to the page
#   - a page unspool_NAME.3 for each header, with all of its types
#   - safety-table.md, the table to which doc/signal-safety.md refers
# EXAMPLES is the folder of example programs; NAME.c is shown on the page of the function NAME.
use strict;
use warnings;

my ($version, $folder, $examples, @headers) = @ARGV;
my (%type, %page_of, @contracts, %header);

sub slurp {
    open my $file, '<:utf8', $_[0] or die "$_[0]: $!\n";
    local $/;
    return scalar <$file>;
}

sub spill {
    open my $file, '>:utf8', "$folder/$_[0]" or die "$folder/$_[0]: $!\n";
    print $file $_[1];
    close $file or die "$folder/$_[0]: $!\n";
}

# ---- reading headers ----

# Splits a header at the empty lines outside braces.
sub blocks {
    my ($block, $depth, @blocks) = ('', 0);
    for my $line (split /\n/, $_[0]) {
        if ($line eq '' && $depth == 0) {
            push @blocks, $block if $block ne '';
            $block = '';
            next;
        }
        $block .= "$line\n";
        my $code = $line =~ s{^ \*.*|/\*.*}{}r;
        $depth += ($code =~ tr/{//) - ($code =~ tr/}//);
    }
    return (@blocks, $block);
}

# Returns a comment's text without its marks.
sub comment_text { return $_[0] =~ s{^\s*/\* ?}{}r =~ s{\s*\*/\s*$}{}r =~ s{^ *\* ?}{}gmr }

sub read_header {
    my ($path) = @_;
    my ($name) = $path =~ m{(\w+)\.h$} or die "$path is not a header\n";
    my ($head, $body) = split /^USP_BEGIN_DECLS\n/m, slurp($path);
    return if !defined $body;
    my ($intro) = $head =~ m{\*/\n(/\*.*?\*/)}s or die "$path: there is no comment\n";
    my $here = $header{$name} = { name => $name, intro => comment_text($intro), functions => [], types => [] };
    my $section = '';
    for my $block (blocks($body =~ s/^USP_END_DECLS.*//msr)) {
        my ($text, $code) = $block =~ m{\A(?:(/\*.*?\*/)\n)?(.*)\z}s;
        $text = comment_text($text // '');
        if ($code eq '') {
            $section = $text =~ s/\A----.*----\s*//r if $text =~ /\A----/;
        } elsif ($code =~ /^USP_API/) {
            my @names = $code =~ /^USP_API.*?\b(usp_\w+)\(/gm;
            my $contract = { names => \@names, text => $text, section => $section, header => $here,
                code => $code =~ s/^USP_API //gmr =~ s{[ ]*/\*.*?\*/}{}gr =~ s/,\n +/, /gr };
            # A declaration's own comment belongs to the text.
            while ($code =~ m{\b(usp_\w+)\([^;]*;[ ]*/\* (.*?) \*/}g) { $contract->{text} .= "\n\n$1: $2." }
            die "$path: $names[0] has no contract\n" if $text eq '';
            push @contracts, $contract;
            push @{$here->{functions}}, $contract;
            $page_of{$_} = $names[0] for @names;
        } else {
            my ($type) = $code =~ /^(?:struct|enum) (usp_\w+)/ ? $1 : $code =~ /^typedef.*?\(?\*?(usp_\w+)\)?[(;]/m ? $1
                : $code =~ /^#define (USP_\w+)/ ? $1 : die "$path: what is this?\n$code";
            next if $code =~ /^struct \w+;$/ && $text eq '';
            $type{$type} = { name => $type, text => $text, code => $code, header => $here };
            push @{$here->{types}}, $type{$type};
        }
    }
}

# ---- writing roff ----

# Escapes text; names of functions become references, names of constants bold.
sub inline {
    my ($text, $own) = @_;
    $text =~ s/\\/\\e/g;
    $text =~ s/`([^`]*)`/\\fI$1\\fR/g;
    $text =~ s{\b(usp_\w+)\b(\(\d?\))?}{ !$page_of{$1} ? $1 . ($2 // '') : $own->{$1} ? "\\fB$1\\fR()" : "\\fB$1\\fR(3)" }ge;
    $text =~ s/\b(USP_[A-Z0-9_]+)\b/\\fB$1\\fR/g;
    $text =~ s/([^\x00-\x7f])/sprintf '\\[u%04X]', ord $1/ge;
    return $text =~ s/^([.'])/\\&$1/gmr;
}

# A comment's text: paragraphs, lists of "- item", and lists of "name  explanation".
sub prose {
    my ($text, $own) = @_;
    my ($out, $listed) = ('', 0);
    for my $line (split /\n/, $text) {
        if ($line eq '') {
            $out .= ".PP\n";
            $listed = 0;
        } elsif ($line =~ /^  - (.*)/) {
            $out .= ".IP \\(bu 2\n" . inline($1, $own) . "\n";
            $listed = 1;
        } elsif ($line =~ /^  (\S.*?)(?:  +(\S.*))?$/) {
            $out .= ".TP\n\\fI" . inline($1, {}) =~ s/\\fR/\\fI/gr . "\\fR\n" . (defined $2 ? inline($2, $own) . "\n" : '');
            $listed = 1;
        } elsif ($line =~ /^   +(\S.*)/) {
            $out .= inline($1, $own) . "\n";
        } else {
            $out .= ".PP\n" if $listed;
            $listed = 0;
            $out .= inline($line, $own) . "\n";
        }
    }
    return $out;
}

sub verbatim { return ".EX\n" . ($_[0] =~ s/\\/\\e/gr =~ s/-/\\-/gr =~ s/^([.'])/\\&$1/gmr) . ".EE\n" }

# The members of a struct or an enum, each with its comment.
sub members {
    my ($out, $member, $text, $inside) = ('', '', '', 0);
    for my $line (split /\n/, "$_[0]\n,") {
        # A comment stands on lines of its own before the member, or after the member on the same line.
        if ($line =~ s{/\*(.*?)(\*/|$)}{}) {
            $text .= ' ' . ($text eq '' ? comment_text($1) : ucfirst comment_text($1));
            $inside = $2 eq '';
        } elsif ($inside) {
            $inside = $line !~ s{\*/}{};
            $text .= ' ' . comment_text($line);
            next;
        }
        $member .= " $line" =~ s/\s+/ /gr;
        next if $member !~ /\w/ || ($member =~ tr/(//) > ($member =~ tr/)//) || $member !~ /[;,] *$/;
        $member =~ s/[;, ]+$//;
        $out .= ".TP\n.B \"" . ($member =~ s/^ +//r =~ s/"/\\(dq/gr) . "\"\n" . ($text =~ /\S/ ? inline($text =~ s/\s+/ /gr =~ s/^ //r, {}) . "\n" : '')
            if $member !~ /\breserved\d*\b/;
        ($member, $text) = ('', '');
    }
    return $out;
}

sub type_text {
    my ($type) = @_;
    my $out = '.SS "' . ($type->{code} =~ /^(struct|enum)/ ? "$1 " : '') . "$type->{name}\"\n" . prose($type->{text}, {});
    return $out . members($1) if $type->{code} =~ /^(?:struct|enum) \w+ \{(.*)\};/s;
    return $type->{code} =~ /^struct/ ? $out : $out . ($type->{text} eq '' ? '' : ".PP\n") . verbatim($type->{code});
}

# The types of one header that a text names, and the types that these name.
sub types_in {
    my ($text, $header, $seen) = @_;
    my @types;
    while ($text =~ /\b(usp_\w+|USP_\w+)\b/g) {
        my $type = $type{$1} or next;
        next if $type->{header} != $header || $seen->{$1}++;
        push @types, $type, types_in("$type->{code} $type->{text}", $header, $seen);
    }
    return @types;
}

sub first_sentence { return $_[0] =~ /\A(.*?[.:;])(?:\s|\z)/s ? $1 =~ s/[.:;]$//r =~ s/\s+/ /gr : die "no sentence: $_[0]\n" }

sub heading {
    my ($name, $names, $what) = @_;
    $what =~ s/^([A-Z])(?=[a-z]* )/\l$1/;
    return ".\\\" SPDX-License-Identifier: MIT\n.\\\" Generated from the public headers by doc/pages.pl.\n"
        . ".TH \U$name\E 3 \"\" \"unspool $version\" \"Library Functions Manual\"\n"
        . ".SH NAME\n$names \\- " . ($what =~ s/\\/\\e/gr =~ s/[`]//gr =~ s/([^\x00-\x7f])/sprintf '\\[u%04X]', ord $1/ger) . "\n";
}

sub contract_page {
    my ($contract) = @_;
    my @names = @{$contract->{names}};
    my $own = { map { $_ => 1 } @names };
    my $header = $contract->{header};
    my @types = types_in("$contract->{code} $contract->{text}", $header, {});
    my $out = heading($names[0], join(', ', @names), first_sentence($contract->{text}))
        . ".SH SYNOPSIS\n.B #include <unspool/$header->{name}.h>\n"
        . join('', map { ".HP 4\n.B \"" . (s/"/\\(dq/gr) . "\"\n" } split /\n/, $contract->{code})
        . ".SH DESCRIPTION\n" . prose($contract->{text}, $own);
    $out .= ".SH NOTES\n" . prose($contract->{section}, $own) if $contract->{section} ne '';
    $out .= ".SH TYPES\n" . join '', map { type_text($_) } @types if @types;
    for my $name (grep { -e "$examples/$_.c" } @names) {
        $out .= ".SH EXAMPLES\n" . verbatim(slurp("$examples/$name.c") =~ s{\A(?:/\*.*?\*/\s*)+}{}sr);
    }
    my %also = map { $_->{header}{name} => 1 } grep { $_ } map { $type{$_} } "$contract->{code} $contract->{text}" =~ /(usp_\w+)/g;
    $also{$header->{name}} = 1;
    $out .= ".SH SEE ALSO\n" . join(",\n", map { ".BR unspool_$_ (3)" } sort keys %also) =~ s/\)(?=,)/),/gr =~ s/,,/,/gr
        =~ s/,\n,?/,\n/gr . ",\n.BR unspool (7)\n";
    spill("$names[0].3", $out);
    spill("$_.3", ".so man3/$names[0].3\n") for @names[1 .. $#names];
}

sub header_page {
    my ($header) = @_;
    my $out = heading("unspool_$header->{name}", "unspool_$header->{name}", first_sentence($header->{intro}))
        . ".SH SYNOPSIS\n.B #include <unspool/$header->{name}.h>\n.SH DESCRIPTION\n" . prose($header->{intro}, {}) . ".SH FUNCTIONS\n";
    my $section = '';
    for my $contract (@{$header->{functions}}) {
        $out .= ".PP\n" . prose($contract->{section}, {}) if $contract->{section} ne $section;
        $section = $contract->{section};
        $out .= ".TP\n" . join(', ', map { "\\fB$_\\fR(3)" } @{$contract->{names}}) . "\n"
            . inline(first_sentence($contract->{text}), {}) . ".\n";
    }
    $out .= ".SH TYPES\n" . join('', map { type_text($_) } @{$header->{types}}) if @{$header->{types}};
    spill("unspool_$header->{name}.3", "$out.SH SEE ALSO\n.BR unspool (7)\n");
}

# ---- the table ----

# A row's columns: what the contract says about signal handlers, stopped threads, and why.
sub safety {
    my ($contract) = @_;
    my $text = $contract->{text} =~ s/\s+/ /gr;
    my ($not, $where, $why) = $text =~ /(\bnot )?async-signal-safe( on Linux)?(?:, thread-safe)?(?:: ([^.]*\.))?/i
        or die "the contract of $contract->{names}[0] does not say whether it is async-signal-safe\n";
    my $handler = $not ? 'no' : 'yes' . ($where // '');
    return join ' | ', $handler, $text =~ /On a stopped thread: ([^.]*)\./ ? $1 : $handler, ucfirst($why // '');
}

sub table {
    my $out = "<!-- Generated from the public headers by doc/pages.pl. -->\n# Where each function may be called\n\n"
        . "[signal-safety.md](signal-safety.md) explains the columns. The functions' contracts say the rest.\n";
    for my $header (map { $header{$_} } sort keys %header) {
        my (%row, @order);
        for my $contract (@{$header->{functions}}) {
            my $safety = safety($contract);
            push @order, $safety if !$row{$safety};
            push @{$row{$safety}}, map { "`$_`" } @{$contract->{names}};
        }
        $out .= "\n## unspool/$header->{name}.h\n\n| function | handler | on a stopped thread | why |\n|---|---|---|---|\n"
            . join '', map { '| ' . join(', ', @{$row{$_}}) . " | $_ |\n" } @order;
    }
    return $out;
}

read_header($_) for grep { /\.h$/ } @headers;
contract_page($_) for @contracts;
header_page($header{$_}) for sort keys %header;
spill('safety-table.md', table());
