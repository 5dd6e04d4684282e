# SPDX-License-Identifier: MIT
# Writes one HTML page from manual pages and from Markdown documents, with a contents list; `make html` calls it.
#   perl doc/html.pl VERSION FILE... >unspool.html
# Links between the files become links inside the page. Each manual page has the anchor NAME.SECTION, each of its
# functions NAME, each document FILE.md, and each of a document's headings FILE.md-words-of-the-heading.
use strict;
use warnings;
binmode STDOUT, ':utf8';

my ($version, @files) = grep { !/\.json$/ } @ARGV;
my (%anchor, %used);

sub slurp {
    open my $file, '<:utf8', $_[0] or die "$_[0]: $!\n";
    local $/;
    return scalar <$file>;
}

sub escape { return $_[0] =~ s/&/&amp;/gr =~ s/</&lt;/gr =~ s/>/&gt;/gr }

sub id {
    my ($id, $n) = ($_[0], 1);
    $id = "$_[0]-" . ++$n while $used{$id}++;
    return $id;
}

# ---- manual pages ----

my %glyph = (bu => "\x{2022}", dq => '"', aq => "'", lq => "\x{201c}", rq => "\x{201d}", co => "\x{a9}");

# Fonts, glyphs and references of a line of roff.
sub roff_inline {
    my $text = escape($_[0]);
    $text =~ s/\\\((\w\w)/$glyph{$1} \/\/ die "unknown glyph $1\n"/ge;
    $text =~ s/\\\[u([0-9A-F]{4,5})\]/chr hex $1/ge;
    $text =~ s/\\&amp;|\\&//g;
    $text =~ s/\\-/-/g;
    $text =~ s/\\~/\x{a0}/g;
    my $open = '';
    $text =~ s{\\f([BIRP])}{ my $close = $open; $open = $1 eq 'B' ? 'b' : $1 eq 'I' ? 'i' : '';
        ($close && "</$close>") . ($open && "<$open>") }ge;
    $text .= "</$open>" if $open;
    $text =~ s{((?:<[bi]>)?([\w.-]+)(?:</[bi]>)?)( ?)\((\d)\)}{ my $to = $anchor{"$2.$4"}; $to ? "<a href=\"#$to\">$1($4)</a>" : "$1$3($4)" }ge;
    return $text =~ s/\\e/\\/gr;
}

# The arguments of a macro.
sub arguments { my @words; push @words, $1 // $2 while $_[0] =~ /"([^"]*)"|(\S+)/g; return @words }

sub fonts {
    my ($macro, $rest) = @_;
    my @fonts = split //, $macro;
    return "\\f$macro" . join(' ', arguments($rest)) . '\\fR' if @fonts == 1;
    my $i = 0;
    return join '', map { "\\f" . $fonts[$i++ % 2] . $_ . '\\fR' } arguments($rest);
}

sub manual {
    my ($path, $text) = @_;
    my ($name, $section) = $path =~ m{([\w-]+)\.(\d)$};
    my $html = "<section><h2 id=\"" . id("$name.$section") . "\">$name($section)</h2>\n";
    my ($paragraph, $list, $pre, $tag, $heading) = ('', 0, 0, 0, '');
    my $flush = sub {
        $html .= ($list ? $paragraph : "<p>$paragraph</p>") . "\n" if $paragraph =~ /\S/;
        $paragraph = '';
    };
    my $end = sub { $flush->(); $html .= "</dd></dl>\n" if $list; $list = 0 };
    for my $line (split /\n/, $text) {
        my ($macro, $rest) = $line =~ /^\.([A-Z]+) ?(.*)/i;
        next if $line =~ /^[.'](\\"|TH\b|$)/;
        if ($macro && $macro =~ /^(?:[BI]|[BIR]{2})$/) { $line = fonts($macro, $rest) }
        elsif (!$macro) { $line = $line =~ s/^\\&//r }
        elsif ($macro =~ /^S[HS]$/) {
            $end->();
            $heading = join ' ', arguments($rest);
            $html .= ($macro eq 'SH' ? '<h3>' : '<h4>') . roff_inline($heading) . ($macro eq 'SH' ? '</h3>' : '</h4>') . "\n";
            next;
        } elsif ($macro =~ /^(PP|HP)$/) { $end->(); next }
        elsif ($macro eq 'TP') { $flush->(); $html .= $list ? '</dd>' : '<dl>'; ($list, $tag) = (1, 1); next }
        elsif ($macro eq 'IP') {
            $flush->();
            my ($mark) = arguments($rest);
            $html .= ($list ? '</dd>' : '<dl>') . '<dt>' . roff_inline($mark) . "</dt>\n<dd>" if defined $mark;
            $html .= '<br>' if !defined $mark && $list;
            $list = 1 if defined $mark;
            next;
        } elsif ($macro =~ /^(EX|nf)$/) { $flush->(); $html .= '<pre>'; $pre = 1; next }
        elsif ($macro =~ /^(EE|fi)$/) { $html .= "</pre>\n"; $pre = 0; next }
        elsif ($macro =~ /^(RS|RE|br)$/) { $flush->(); next }
        else { die "$path: unknown macro: $line\n" }
        $line = roff_inline($line);
        if ($tag) { $html .= "<dt>$line</dt>\n<dd>"; $tag = 0 }
        elsif ($pre) { $html .= "$line\n" }
        else {
            # The NAME section gives the functions their anchors.
            $line =~ s{\b(usp_\w+)(?=.* - )}{"<span id=\"" . id($1) . "\">$1</span>"}ge if $heading eq 'NAME';
            $paragraph .= "$line\n";
        }
    }
    $end->();
    return "$html</section>\n";
}

# ---- Markdown ----

sub slug { return lc($_[0]) =~ s/[^\w -]//gr =~ s/ /-/gr }

sub link_to {
    my ($path, $text, $target) = @_;
    my ($folder, $own) = $path =~ m{^(.*?)([^/]+)$};
    return "<a href=\"$target\">$text</a>" if $target =~ /^https?:/;
    my ($file, $part) = $target =~ /^([^#]*)(?:#(.*))?$/;
    my $to = ($file eq '' ? $own : $file) . (defined $part ? "-$part" : '');
    return "<a href=\"#$to\">$text</a>" if $anchor{$to} || ($file eq '' || $anchor{$file});
    die "$path: there is no $target\n" if !-e "$folder$file" && !-e $file;
    return $text;
}

# Code in a line of Markdown; a function's name becomes a link to its manual page.
sub code_of {
    my ($code, $to) = ('<code>' . escape($_[0]) . '</code>', $anchor{"$_[0].3"});
    return defined $to ? "<a href=\"#$to\">$code</a>" : $code;
}

sub markdown_inline {
    my ($path, $text) = @_;
    my @code;
    $text =~ s/`([^`]+)`/push @code, $1; "\x00$#code\x00"/ge;
    $text = escape($text);
    $text =~ s/!?\[([^\]]*)\]\(([^)\s]+)\)/link_to($path, $1, $2)/ge;
    $text =~ s{\*\*(.+?)\*\*}{<b>$1</b>}g;
    $text =~ s{(?<![\w*])\*(\S[^*]*?)\*(?![\w*])}{<i>$1</i>}g;
    return $text =~ s{\x00(\d+)\x00}{code_of($code[$1])}ger;
}

sub markdown {
    my ($path, $text) = @_;
    my ($name) = $path =~ m{([^/]+)$};
    my ($html, $table, $pre, @lines) = ('<section>', 0, 0);
    my $close = sub {
        $html .= '<p>' . markdown_inline($path, join ' ', @lines) . "</p>\n" if @lines;
        $html .= "</table>\n" if $table;
        @lines = ();
        $table = 0;
    };
    for my $line (split /\n/, $text =~ s/^<!--.*?-->\n//sr) {
        if ($line =~ /^\s*```/) {
            $close->();
            $html .= $pre ? "</pre>\n" : '<pre>';
            $pre = !$pre;
        } elsif ($pre) {
            $html .= escape($line) . "\n";
        } elsif ($line =~ /^(#+) (.*)/) {
            my ($level, $words) = (1 + length $1, $2);
            $close->();
            $html .= "<h$level id=\"" . id($level == 2 ? $name : "$name-" . slug($words)) . '">' . markdown_inline($path, $words) . "</h$level>\n";
        } elsif ($line =~ /^\|(.*)\|\s*$/) {
            my $cell = $table ? 'td' : 'th';
            next if $table && $1 =~ /^[\s|:-]+$/;
            my @cells = split /(?<!\\)\|/, $1;
            $close->() if !$table;
            $html .= '<table>' if !$table;
            $table = 1;
            $html .= '<tr>' . join('', map { "<$cell>" . markdown_inline($path, s/\\\|/|/gr) . "</$cell>" } @cells) . "</tr>\n";
        } elsif ($line !~ /\S/) {
            $close->();
        } elsif ($line =~ /^\s*(?:[-*]|\d+\.) (.*)/) {
            my $item = $1;
            $close->();
            @lines = ("\x{2022} $item");
        } else {
            push @lines, $line;
        }
    }
    $close->();
    return "$html</section>\n";
}

# ---- the page ----

my %text = map { $_ => slurp($_) } @files;
my (@contents, $body);
for my $file (@files) {
    my ($name, $section) = $file =~ m{([\w-]+)\.(\d)$};
    if (!$section) {
        my ($document) = $file =~ m{([^/]+)$};
        $anchor{$document} = $document;
        next;
    }
    my ($target) = $text{$file} =~ m{^\.so man\d/(.*)\.\d$}m;
    # The anchor of another name is in the page's NAME section.
    $anchor{"$name.$section"} = defined $target ? $name : "$name.$section";
}
for my $file (grep { $text{$_} !~ /^\.so /m } @files) {
    my $is_manual = $file =~ m{([\w-]+)\.(\d)$};
    my ($title, $to) = $is_manual ? ("$1($2)", "$1.$2") : ($text{$file} =~ /^# (.*)/m, $file =~ s{.*/}{}r);
    push @contents, "<li><a href=\"#$to\">" . escape($title =~ tr/`//dr) . "</a></li>\n";
    $body .= $is_manual ? manual($file, $text{$file}) : markdown($file, $text{$file});
}
print "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>unspool $version</title>\n",
    "<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}pre,code{font-family:monospace}",
    "pre{background:#f4f4f4;padding:.5em;overflow-x:auto}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2em .5em;",
    "vertical-align:top;text-align:left}nav ul{columns:3;font-size:85%}section{border-top:1px solid #ccc}</style></head><body>\n",
    "<h1>unspool $version</h1>\n<nav><ul>\n", @contents, "</ul></nav>\n$body</body></html>\n";
