# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
mkdir A 0777
mkdir AC 0777
open Afoo O_RDWR|O_CREAT 0777
write Afoo 0 4096
close Afoo
mark
rename A AC
none
checkpoint 1
write Afoo 0 4096
sync
checkpoint 2
