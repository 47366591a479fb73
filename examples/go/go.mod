module cuzk-example

go 1.19
