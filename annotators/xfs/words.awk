# SPDX-License-Identifier: GPL-2.0-or-later
# Places of `annotate` in words. Variables: uses (of blockuse and ncheck), maps (of bmap).
function read_uses(line, words, at) {
  while ((getline line < uses) > 0)
    if (line ~ /^block [0-9]+ \([0-9]+\/[0-9]+\) type /) {
      split(line, words, " ")
      type[words[3]] = words[5]
      if (words[6] == "inode") owner[words[3]] = words[7]
    } else if (line ~ /^ *[0-9]+ ./) {
      sub(/^ */, "", line); at = index(line, " "); number = substr(line, 1, at - 1)
      if (!(number in name)) { name[number] = "/" substr(line, at + 1); sub(/\/\.$/, "", name[number]) }
    }
}
function read_maps(line, words, inode) {
  while ((getline line < maps) > 0) {
    split(line, words, " ")
    if (line ~ /^current inode number is /) inode = words[5]
    else if (line ~ /^data offset [0-9]+ startblock [0-9]+ /) {
      count[inode]++
      offset[inode, count[inode]] = words[3]; start[inode, count[inode]] = words[5]; length_of[inode, count[inode]] = words[8]
    }
  }
}
function called(number) {
  if (number in name) return name[number]
  return "inode " number
}
function at_in(number, fsblock, i, first) {
  for (i = 1; i <= count[number]; i++) {
    first = start[number, i]
    if (first + 0 <= fsblock + 0 && fsblock + 0 < first + length_of[number, i])
      return sprintf(" at %.0f", (offset[number, i] + fsblock - first) * blocksize)
  }
  return ""
}
function of_block(where, fsblock, inode, kind, number) {
  kind = type[where]; number = owner[where]
  if (kind == "data") return "block of " called(number) at_in(number, fsblock)
  if (kind == "dir") return "directory " (number in name ? name[number] : "inode " number)
  if (kind == "attr") return "attributes of " called(number)
  if (kind == "btbmapd" || kind == "btbmapa" || kind == "bmapbtd" || kind == "bmapbta") return "extent tree of " called(number)
  if (kind == "symlink") return "symbolic link " called(number)
  if (kind == "inode") return (inode in name ? "inode " inode " (" name[inode] ")" : "- inode " inode " (no name)")
  if (kind == "btbno") return "free space of AG " $2 ", B+tree by block"
  if (kind == "btcnt") return "free space of AG " $2 ", B+tree by size"
  if (kind == "btino" || kind == "btfino") return "inodes of AG " $2 ", B+tree" (kind == "btfino" ? " of the free ones" : "")
  if (kind == "btrmap" || kind == "rmapbt") return "owners of blocks of AG " $2 ", B+tree"
  if (kind == "btrefc" || kind == "refcntbt") return "reference counts of AG " $2 ", B+tree"
  if (kind == "freelist") return "block in the AGFL's list of AG " $2
  if (kind ~ /^free/) return "- free block " $3 " of AG " $2
  if (kind == "" || kind == "unknown") return "-"
  return kind (number == "" ? "" : " of " called(number))
}
BEGIN { name[rootino] = "/"; read_uses(); read_maps() }
$5 == "sb" { print ($2 == 0 ? "superblock" : "backup of the superblock, AG " $2); next }
$5 == "agf" { print "AGF of AG " $2; next }
$5 == "agi" { print "AGI of AG " $2; next }
$5 == "agfl" { print "AGFL of AG " $2; next }
$5 == "log" { print "log, at " $7 - $7 % 512; next }
$5 == "outside" { print "behind the last AG"; next }
{ print of_block("(" $2 "/" $3 ")", $4, $6) }
