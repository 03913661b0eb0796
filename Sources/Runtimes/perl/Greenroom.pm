package Greenroom;

# Pauses Perl before its program, for Greenroom.
#
# The daemon runs `perl [OPTIONS] -IFOLDER -MGreenroom PLACEHOLDER`. When Perl loads this file, it has opened
# PLACEHOLDER and has not read from it. The file loads what GREENROOM_IMPORTS lists (as %INC spells it:
# Getopt/Long.pm), waits for a launch, and opens the launch's program in place of PLACEHOLDER. If the program
# could notice a difference from a direct run, Perl is executed anew with the launch's words in the same
# process. Before the pause, any doubt ends the process; the daemon then starts the program directly.
#
# Nothing is used here that would remain in %INC.

our ($words, $variables, $reason, $name, $placeholder, $path, $text);

# Why a launch is started anew: enum gr_anew_reason of wire.h.
sub OPTIONS () { 1 }
sub PROGRAM () { 2 }
sub HIDDEN () { 3 }
sub CHANGED () { 4 }
sub ENVIRONMENT () { 5 }
sub FAILED () { 7 }

# In bytes; the daemon reads no longer record.
sub RECORD_LIMIT () { 65536 }

sub contents {
    open my $file, '<', $_[0] or return;
    local $/;
    return scalar <$file>;
}

# The functions of perl.c leave a mark on Perl's stack, which the end of a subroutine removes.
sub refuse { native_refuse(); return }
sub await { native_wait(); return }
sub anew { $reason = $_[0]; native_start_anew(); return }
sub become { native_become(); return }
sub watch { $path = $_[0]; native_watch(); return }
sub are_unchanged { native_compare_files(); return $text eq '1' }
sub stamp { $path = $_[0]; native_stamp(); return $text }
sub send_record { ($path, $text) = @_; native_send(); return }

# The loaded files, and the folders in which Perl would have looked for them.
sub watch_files {
    my %seen = map { $_ => 1 } grep { !ref && m{^/} } @INC;
    for my $path (grep { defined && m{^/} } values %INC) {
        @seen{ $path, $path =~ s{/[^/]*\z}{}r } = ();
    }
    # Another folder that is searched first may get a file of the same name, in a subfolder.
    for my $name (grep { m{/} && defined $INC{$_} && !ref $INC{$_} } keys %INC) {
        my $folder = $name =~ s{/[^/]*\z}{}r;
        for my $place (grep { !ref && m{^/} } @INC) {
            last if $INC{$name} eq "$place/$name";
            $seen{"$place/$folder"} = 1;
        }
    }
    watch($_) for keys %seen;
}

# Variables that Perl has read at its start.
sub is_read { $_[0] =~ /^(?:PERL|LC_|LANG\z|LD_LIBRARY_PATH\z)/ }

# The files that a program loads first, before anything of its own can make a difference: those of its first lines. What
# follows `use` is no variable and no block.
sub first_loads {
    my ($program) = @_;
    my @names;
    for ($program) {
        while (1) {
            next if /\G(?:\s+|#[^\n]*(?:\n|\z)|(?<![^\n])=[a-z].*?\n=cut\b[^\n]*(?:\n|\z))/gcs;
            next if /\G(?:package\s+main|use\s+v?[\d._]+|no\s+(?:strict|warnings)\b[\w\s'"(),]*)\s*;/gc;
            next if /\G(?:our|my)\s+\$VERSION\s*=\s*['"]?[\w.]+['"]?\s*;/gc;
            last if !/\Guse\s+([A-Za-z]\w*(?:::\w+)*)(?=[\s;])([^;#\$\@&%{}`]*);/gc || $1 eq 'lib' || $1 eq 'if';
            push @names, $1 =~ s{::}{/}gr . '.pm';
        }
    }
    return @names;
}

# Whether a program's first line has an option for warnings, which comes too late for what is loaded before the pause.
sub changes_warnings {
    my ($program, $warns) = @_;
    return $program =~ /^#!.*\s-\w*[WX]/ || !$warns && $program =~ /^#!.*\s-\w*w/;
}

sub record {
    my ($socket, $owner, $initial, $first, @places) = @_;
    return if $$ != $owner;
    my @names;
    for my $name (grep { !$initial->{$_} } @$first) {
        my $file = $INC{$name};
        # The next launch may find it elsewhere, or what the file does may differ.
        last if !defined $file || ref $file || !grep { $file eq "$_/$name" } @places;
        push @names, $name;
    }
    my $lines = join '', map { "$_\n" } @names;
    # The daemon reads no more.
    $lines = substr($lines, 0, RECORD_LIMIT - 1) =~ s/[^\n]*\z//r if length $lines >= RECORD_LIMIT;
    send_record($socket, $lines eq '' ? "\n" : $lines);
}

sub prepare {
    my $here = __FILE__ =~ s{/[^/]*\z}{}r;
    @INC = grep { $_ ne $here } @INC;
    delete $INC{'Greenroom.pm'};
    DynaLoader::boot_DynaLoader('DynaLoader') if !defined &DynaLoader::dl_load_file;
    my $library = DynaLoader::dl_load_file($here =~ s{/[^/]*\z}{}r . '/libgreenroom-runtime.so', 0) or kill KILL => $$;
    for my $function (qw(refuse wait start_anew become watch compare_files stamp send)) {
        DynaLoader::dl_install_xsub("Greenroom::native_$function", DynaLoader::dl_find_symbol($library, "greenroom_perl_$function"));
    }
    $placeholder = $0;
    my @options = split /\0/, contents('/proc/self/cmdline'), -1;
    splice @options, -4;    # -IFOLDER -MGreenroom PLACEHOLDER, and the empty word after the last NUL
    # Other options change how Perl reads the program.
    my @check = @options[1 .. $#options];
    while (defined(my $option = shift @check)) {
        if ($option eq '-I') { shift @check }
        elsif ($option !~ /^-(?:[wWX]+|[IMm].+|C\d*)\z/) { refuse() }
    }
    return @options;
}

# Returns the error number that the last of these modules has left, and then the names that none of the others has
# loaded.
sub load {
    my ($imports, $warns) = splice @_;    # what is required would find the arguments there
    my %before = %ENV;
    my ($error, @roots) = 0;
    for my $line (split /\n/, $imports) {
        # A learned list has the stamp of the inspected file; the manifest's list has none.
        my ($name, $stamp) = split /\t/, $line;
        if ($name =~ s/^=//) {
            refuse() if $stamp ne '-' && $stamp ne stamp($name);
            watch($name);
            next;
        }
        push @roots, $name if !exists $INC{$name};
        # What a failed module has half defined stays, so nothing may run here any more.
        refuse() if !eval { local $^W = $warns; require $name; 1 };
        $error = $! + 0 if @roots && $roots[-1] eq $name;
        refuse() if defined $stamp && $stamp ne stamp($INC{$name});
    }
    refuse() if join("\0", map { "$_=$before{$_}" } sort keys %before) ne join("\0", map { "$_=$ENV{$_}" } sort keys %ENV);
    return $error, @roots;
}

sub compare {
    my ($key) = @_;
    my %launch;
    for (split /\0/, $variables) { my ($name, $value) = /^([^=]*)=(.*)\z/s or next; $launch{$name} //= $value }
    for my $name (grep { is_read($_) } keys %$key, keys %launch) {
        anew(ENVIRONMENT) if ($key->{$name} // '') ne ($launch{$name} // '');
    }
    anew(CHANGED) if !are_unchanged();
    return \%launch;
}

sub program {
    my ($imports, $roots, $warns, @options) = @_;
    my @launch = split /\0/, $words, -1;
    pop @launch;
    anew(OPTIONS) if @launch < @options || grep { $launch[$_] ne $options[$_] } 0 .. $#options;
    my ($script, @arguments) = @launch[@options .. $#launch];
    anew(PROGRAM) if !defined $script || $script eq '' || $script =~ /["\n]/;
    anew(OPTIONS) if $script =~ /^-/;
    open my $file, '<', $script or anew(PROGRAM);
    anew(PROGRAM) if !-f $file;
    my $line = <$file> // '';
    # Perl would execute another interpreter, or check the options of the command line again.
    anew(PROGRAM) if $line =~ /^#!/ && $line !~ /perl[^\s]*(?:\s+-[wWX]+)?\s*$/;
    anew(PROGRAM) if $line =~ /^(?:\xEF\xBB\xBF|\xFE\xFF|\xFF\xFE)/;
    local $/;
    $text = $line . (<$file> // '');
    # What was learned must be what the program loads first, and nothing else. The author of a list answers for it; lines
    # that were learned have stamps.
    if ($imports =~ /\t/) {
        anew(HIDDEN) if changes_warnings($line, $warns);
        my @left = @$roots;
        for my $name (first_loads($text)) {
            if (@left && $name eq $left[0]) { shift @left }
            elsif (!exists $INC{$name}) { last }
        }
        anew(HIDDEN) if @left;
    }
    return $script, @arguments;
}

# When Perl opened the standard streams, it asked whether they are terminals, whose lines are written at once, and where in
# their files they are. It asks again for a new layer in place of the old one. That would take from STDERR that nothing of it
# waits, so only its place is asked for.
sub ask_streams_again {
    for my $stream (\*STDIN, \*STDOUT) {
        my ($layers) = "@{[PerlIO::get_layers($stream)]}" =~ /^unix perlio((?: utf8)?)\z/ or anew(OPTIONS);
        binmode($stream, ':pop') && binmode($stream, ':perlio' . ($layers && ':utf8')) or anew(FAILED);
    }
    seek STDERR, 0, 1;
}

# Called after this file is loaded: until then, the lines that Perl reads next are this file's.
sub import {
    my $warns = $^W;
    local $^W = 0;    # -w is for the program, and what it loads
    my $imports = delete $ENV{GREENROOM_IMPORTS} // '';
    my $record = delete $ENV{GREENROOM_RECORD};
    my @options = prepare();
    my @places = grep { !ref } @INC;
    my %initial = %INC;
    my %key = %ENV;
    my ($error, @roots) = load($imports, $warns);
    watch_files();
    await();
    my $launch = compare(\%key);
    ($name, my @arguments) = program($imports, \@roots, $warns, @options);
    delete @ENV{ grep { !exists $launch->{$_} } keys %ENV };
    $ENV{$_} = $launch->{$_} for keys %$launch;
    @ARGV = @arguments;
    $^T = time;
    ask_streams_again();
    # What a program loads first does not change with its launches.
    undef $record if $imports =~ /\t/;
    if (defined $record) {
        my ($owner, @first) = ($$, changes_warnings($text, $warns) ? () : first_loads($text));
        our $end = sub { local ($?, $!, $@, $_); record($record, $owner, \%initial, \@first, @places) };
        eval 'END { $Greenroom::end->() } 1' or anew(FAILED);
    }
    become();
    delete $main::{'Greenroom::'} if !defined $record;
    # A program whose first lines load these would have this error number after them.
    $! = $imports =~ /\t/ ? $error : 0;
}

1;
