"""The strategies that ship with costaware, one file each."""
