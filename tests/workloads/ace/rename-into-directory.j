# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
mkdir A 0777
mkdir B 0777
open Afoo O_RDWR|O_CREAT 0777
write Afoo 0 4096
close Afoo
mark
rename Afoo Bbar
none
checkpoint 1
opendir B 0777
fsync B
checkpoint 2
