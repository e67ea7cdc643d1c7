# SPDX-License-Identifier: GPL-2.0-or-later
# Places of `annotate` in words. Variables: names (of ncheck), owners (of icheck), inodes (of stat).
function read_names(line, at) {
  while ((getline line < names) > 0)
    if (line ~ /^[0-9]+\t\//) {
      at = index(line, "\t")
      number = substr(line, 1, at - 1)
      if (!(number in name)) { name[number] = substr(line, at + 1); sub(/^\/+/, "/", name[number]) }
    }
}
function read_owners(line, words) {
  while ((getline line < owners) > 0) { split(line, words, " "); owner[words[1]] = words[2] }
}
# "(0-11):100-111, (ETB0):99" of an inode: where a block is in its file, or what it maps.
function read_blocks(inode, line, items, count, i, parts, logical, physical, block) {
  count = split(line, items, ", *")
  for (i = 1; i <= count; i++) {
    if (split(items[i], parts, ":") != 2) continue
    logical = parts[1]; gsub(/[()]/, "", logical); sub(/\[u\]/, "", logical)
    split(parts[2], physical, "-")
    for (block in wanted)
      if (wanted[block] == inode && physical[1] + 0 <= block + 0 && block + 0 <= (physical[2] == "" ? physical[1] : physical[2]) + 0) {
        if (logical ~ /^[0-9]/) { split(logical, parts, "-"); place[block] = parts[1] + block - physical[1] }
        else maps[block] = 1
      }
  }
}
function read_inodes(line, inode, in_blocks, at) {
  for (at in owner) wanted[at] = owner[at]
  while ((getline line < inodes) > 0) {
    if (line ~ /^Inode: [0-9]+ +Type: /) {
      split(line, words, " +"); inode = words[2]; type[inode] = words[4]; in_blocks = 0
    } else if (line ~ /^Links: /) { split(line, words, " +"); links[inode] = words[2] }
    else if (line ~ /^(EXTENTS|BLOCKS):/) in_blocks = 1
    else if (line ~ /^\(/ && in_blocks) read_blocks(inode, line)
    else in_blocks = 0
  }
}
function called(number) {
  if (number in name) return name[number]
  return "inode " number
}
function of_block(block, number, where) {
  if (!(block in owner)) return "- a block that no inode has"
  number = owner[block]
  where = block in place ? sprintf("%.0f", place[block] * block_size) : ""
  if (number == journal) return "journal" (where == "" ? "" : ", at " where)
  if (number == 7) return "blocks reserved for group descriptors"
  if (block in maps) return "extent tree or block map of " called(number)
  if (type[number] == "directory") return "directory " called(number) (where == "" ? "" : ", block at " where)
  return "block of " called(number) (where == "" ? "" : " at " where)
}
function of_inode(number, text) {
  text = "inode table, inode " number
  if (number == journal) return text " (the journal)"
  if (number in name) return text " (" name[number] ")"
  if (number < 11) return text " (reserved)"
  return "- " text (links[number] > 0 ? " (no name)" : " (free)")
}
BEGIN { name[2] = "/"; read_names(); read_owners(); read_inodes() }
$3 == "boot" { print "before the superblock"; next }
$3 == "padding" { print "after the superblock"; next }
$3 == "superblock" { print "superblock"; next }
$3 == "backup" { print "backup of the superblock, group " $4; next }
$3 == "descriptors" { print "group descriptors" ($4 == 0 ? "" : ", backup in group " $4); next }
$3 == "reserved" { print "blocks reserved for group descriptors"; next }
$3 == "block_bitmap" { print "block bitmap of group " $4; next }
$3 == "inode_bitmap" { print "inode bitmap of group " $4; next }
$3 == "table" { print of_inode($5); next }
$3 == "free" { print "- free block " $2 " of group " $4; next }
{ print of_block($2) }
